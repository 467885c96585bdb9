/** An element's content: text, elements, or several of a name. */
type XmlValue = string | number | boolean | undefined | XmlElements | readonly XmlElements[];

/** Elements by their names. */
export interface XmlElements {
  readonly [name: string]: XmlValue;
}

/** A document of one element. Undefined elements are left out. */
export function xmlDocument(name: string, elements: XmlElements): Buffer {
  return Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>\n<${name} xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${contentOf(elements)}</${name}>`);
}

/** The parts that a request to end an upload lists. */
export function listedParts(xml: string): { readonly number: number; readonly etag: string }[] {
  return [...xml.matchAll(/<Part>([\s\S]*?)<\/Part>/g)].map(([, part = ""]) => {
    const of = (name: string): string => new RegExp(`<${name}>([\\s\\S]*?)</${name}>`).exec(part)?.[1] ?? "";
    return { number: Number(of("PartNumber")), etag: of("ETag").replaceAll("&quot;", '"').replaceAll("&#34;", '"') };
  });
}

function contentOf(elements: XmlElements): string {
  return Object.entries(elements)
    .flatMap(([name, value]) => (Array.isArray(value) ? value : [value]).map((one: XmlValue) => (one === undefined ? "" : `<${name}>${typeof one === "object" ? contentOf(one as XmlElements) : escaped(String(one))}</${name}>`)))
    .join("");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
