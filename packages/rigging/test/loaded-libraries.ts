// Prints the packages that importing this package's index loads, as JSON.
import { Session } from "node:inspector";

const session = new Session();
const urls: string[] = [];
session.connect();
session.on("Debugger.scriptParsed", ({ params }) => void urls.push(params.url));
session.post("Debugger.enable");
await import("../src/index.js");
const packages = urls.map((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1]).filter((name) => name !== undefined);
console.log(JSON.stringify([...new Set(packages)].sort()));
