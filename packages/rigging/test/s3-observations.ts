import { S3Client, type ServiceInputTypes, type ServiceOutputTypes } from "@aws-sdk/client-s3";
import * as s3 from "@aws-sdk/client-s3";

/** What a server answered, by the name of what it was asked. */
export type Observations = Readonly<Record<string, unknown>>;

type Input = Readonly<Record<string, unknown>>;

/** Five mebibytes, the least size of a part. */
const part = Buffer.alloc(5 << 20, 3);

/**
 * Asks an S3 server the same questions as any other, with Amazon's client, and notes what matters to storage: statuses, codes of refusals,
 * sizes, ETags, bytes, what listings hold.
 *
 * @param without - questions that are not asked
 */
export async function observeS3(endpoint: string, without: readonly string[] = []): Promise<Observations> {
  const client = new S3Client({ endpoint, region: "us-east-1", forcePathStyle: true, maxAttempts: 1, credentials: { accessKeyId: "S3RVER", secretAccessKey: "S3RVER" }, requestChecksumCalculation: "WHEN_REQUIRED", responseChecksumValidation: "WHEN_REQUIRED" });
  const seen: Record<string, unknown> = {};
  const Bucket = "bucket";
  const ask = async (name: string, command: keyof typeof s3, input: Input, pick: (output: Record<string, unknown>) => unknown = () => "done"): Promise<Record<string, unknown>> => {
    if (without.includes(name)) return {};
    const Command = s3[command] as unknown as new (input: Input) => never;
    try {
      const output = (await client.send<ServiceInputTypes, ServiceOutputTypes>(new Command({ Bucket, ...input }))) as unknown as Record<string, unknown>;
      const body = output["Body"] as { transformToString(): Promise<string> } | undefined;
      const text = body === undefined ? undefined : await body.transformToString();
      seen[name] = { ...(text === undefined ? {} : { text }), picked: pick(output) };
      return output;
    } catch (error) {
      const { name: code, $metadata } = error as { readonly name: string; readonly $metadata?: { readonly httpStatusCode?: number } };
      seen[name] = { refused: $metadata?.httpStatusCode, code };
      return {};
    }
  };
  const described = ({ ContentLength, ETag, Metadata }: Record<string, unknown>): unknown => ({ ContentLength, ETag, Metadata });
  const listed = ({ Contents, CommonPrefixes, IsTruncated }: Record<string, unknown>): unknown => ({
    keys: ((Contents ?? []) as { readonly Key: string; readonly Size: number; readonly ETag: string }[]).map(({ Key, Size, ETag }) => [Key, Size, ETag]),
    prefixes: ((CommonPrefixes ?? []) as { readonly Prefix: string }[]).map(({ Prefix }) => Prefix),
    IsTruncated,
  });
  const etag = ({ ETag }: Record<string, unknown>): unknown => ETag;

  await ask("put", "PutObjectCommand", { Key: "a", Body: "0123456789", Metadata: { mark: "m" } }, etag);
  await ask("get", "GetObjectCommand", { Key: "a" }, described);
  await ask("head", "HeadObjectCommand", { Key: "a" }, described);
  await ask("range", "GetObjectCommand", { Key: "a", Range: "bytes=2-4" }, ({ ContentRange, ContentLength }) => ({ ContentRange, ContentLength }));
  await ask("open range", "GetObjectCommand", { Key: "a", Range: "bytes=7-" }, ({ ContentRange }) => ContentRange);
  await ask("range beyond the end", "GetObjectCommand", { Key: "a", Range: "bytes=7-99" }, ({ ContentRange }) => ContentRange);
  await ask("suffix range", "GetObjectCommand", { Key: "a", Range: "bytes=-3" }, ({ ContentRange }) => ContentRange);
  await ask("range behind the end", "GetObjectCommand", { Key: "a", Range: "bytes=10-" });
  await ask("get of nothing", "GetObjectCommand", { Key: "none" });
  await ask("head of nothing", "HeadObjectCommand", { Key: "none" });
  await ask("get, no bucket", "GetObjectCommand", { Bucket: "no-such-bucket", Key: "a" });
  await ask("put, no bucket", "PutObjectCommand", { Bucket: "no-such-bucket", Key: "a", Body: "x" });
  await ask("read if it matches", "GetObjectCommand", { Key: "a", IfMatch: '"781e5e245d69b566979b86e28d23f2c7"' });
  await ask("read if it matches, and it does not", "GetObjectCommand", { Key: "a", IfMatch: '"00000000000000000000000000000000"' });
  await ask("write if nothing is there, and something is", "PutObjectCommand", { Key: "a", Body: "x", IfNoneMatch: "*" });
  await ask("write if nothing is there", "PutObjectCommand", { Key: "cond", Body: "one", IfNoneMatch: "*" }, etag);
  await ask("write if it matches, and it does not", "PutObjectCommand", { Key: "cond", Body: "x", IfMatch: '"00000000000000000000000000000000"' });
  await ask("write if it matches", "PutObjectCommand", { Key: "cond", Body: "two", IfMatch: '"f97c5d29941bfb1b2fdab0874906ab82"' }, etag);
  await ask("what conditional writes left", "GetObjectCommand", { Key: "cond" });
  await ask("copy", "CopyObjectCommand", { Key: "b ü+", CopySource: "bucket/a" }, ({ CopyObjectResult }) => (CopyObjectResult as Record<string, unknown>)["ETag"]);
  await ask("copy of nothing", "CopyObjectCommand", { Key: "b", CopySource: "bucket/none" });
  await ask("a name in need of escapes", "GetObjectCommand", { Key: "b ü+" }, described);
  for (const Key of ["l/1", "l/2", "l/d/3", "l/d/4", "l/é", "l-x"]) await ask(`put ${Key}`, "PutObjectCommand", { Key, Body: Key }, etag);
  await ask("list", "ListObjectsV2Command", { Prefix: "l/" }, listed);
  await ask("list a directory", "ListObjectsV2Command", { Prefix: "l/", Delimiter: "/" }, listed);
  await ask("list after a name", "ListObjectsV2Command", { Prefix: "l/", StartAfter: "l/2" }, listed);
  await ask("list nothing", "ListObjectsV2Command", { Prefix: "none/" }, listed);
  await ask("list, no bucket", "ListObjectsV2Command", { Bucket: "no-such-bucket" }, listed);
  const first = await ask("list, first page", "ListObjectsV2Command", { Prefix: "l/", MaxKeys: 2 }, listed);
  await ask("list, second page", "ListObjectsV2Command", { Prefix: "l/", MaxKeys: 2, ContinuationToken: first["NextContinuationToken"] ?? "none" }, listed);
  const { UploadId } = await ask("begin an upload", "CreateMultipartUploadCommand", { Key: "parts", Metadata: { mark: "m" } });
  const one = await ask("part 1", "UploadPartCommand", { Key: "parts", UploadId, PartNumber: 1, Body: part }, etag);
  const two = await ask("part 2", "UploadPartCommand", { Key: "parts", UploadId, PartNumber: 2, Body: "end" }, etag);
  const Parts = [{ PartNumber: 1, ETag: one["ETag"] }, { PartNumber: 2, ETag: two["ETag"] }];
  await ask("nothing before an upload ends", "HeadObjectCommand", { Key: "parts" });
  await ask("end with a part that is not there", "CompleteMultipartUploadCommand", { Key: "parts", UploadId, MultipartUpload: { Parts: [...Parts, { PartNumber: 3, ETag: '"00000000000000000000000000000000"' }] } });
  await ask("end an upload", "CompleteMultipartUploadCommand", { Key: "parts", UploadId, MultipartUpload: { Parts } }, etag);
  await ask("what an upload made", "HeadObjectCommand", { Key: "parts" }, described);
  const other = await ask("begin another", "CreateMultipartUploadCommand", { Key: "given-up" });
  await ask("give an upload up", "AbortMultipartUploadCommand", { Key: "given-up", UploadId: other["UploadId"] });
  await ask("end what was given up", "CompleteMultipartUploadCommand", { Key: "given-up", UploadId: other["UploadId"], MultipartUpload: { Parts } });
  await ask("delete", "DeleteObjectCommand", { Key: "a" });
  await ask("delete nothing", "DeleteObjectCommand", { Key: "a" });
  await ask("get what was deleted", "GetObjectCommand", { Key: "a" });
  client.destroy();
  return seen;
}
