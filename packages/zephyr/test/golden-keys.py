"""Makes the golden vectors of src/shuffle/route.test.ts: canonical bytes and shards of 7, by xxhash of PyPI."""
import xxhash, struct, datetime, math
def num(x):
    b=bytearray(struct.pack('>d',x))
    if b[0]&0x80: b=bytearray(c^0xff for c in b)
    else: b[0]^=0x80
    return bytes(b)
def key(v):
    if v is None: return b'\x01'
    if v is False: return b'\x02'
    if v is True: return b'\x03'
    if isinstance(v,tuple) and v[0]=='date': return b'\x18'+num(float(v[1]))
    if isinstance(v,(int,float)):
        d=float(v)
        if isinstance(v,int):
            while int(d)>v: d=math.nextafter(d,-math.inf)
            m=v-int(d)
        else: m=0
        r=b'' if m==0 else m.to_bytes((m.bit_length()+7)//8,'big')
        return b'\x10'+num(d)+bytes([len(r)])+r
    if isinstance(v,str): return b'\x20'+v.encode('utf-8','surrogatepass').replace(b'\0',b'\0\xff')+b'\0'
    if isinstance(v,bytes): return b'\x28'+v.replace(b'\0',b'\0\xff')+b'\0'
    if isinstance(v,list): return b'\x30'+b''.join(map(key,v))+b'\0'
    if isinstance(v,dict): return b'\x38'+b''.join(key(k)+key(v[k]) for k in sorted(v))+b'\0'
for js,v in [('null',None),('true',True),('0',0.0),('-1.5',-1.5),('42',42),('2n ** 53n + 1n',2**53+1),('-(2n ** 64n) - 3n',-(2**64)-3),('""',''),('"hot"','hot'),('"日本語 😀"','日本語 😀'),('"\\ud83d"','\ud83d'),('"a\\0b"','a\0b'),('new Date("2026-11-30T00:00:00Z")',('date',int(datetime.datetime(2026,11,30,tzinfo=datetime.timezone.utc).timestamp()*1000))),('Uint8Array.from([1, 0, 255])',b'\x01\0\xff'),('["user", 7]',['user',7]),('{ b: null, a: [false] }',{'b':None,'a':[False]})]:
    k=key(v); h=xxhash.xxh64(k,seed=0).intdigest()
    print(f'  [{js}, "{k.hex()}", {h%7}],')
