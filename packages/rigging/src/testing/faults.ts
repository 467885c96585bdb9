import type { IncomingMessage, ServerResponse } from "node:http";

/** What a server is to do to a request instead of dealing with it as it should. */
export type ServerFault =
  /** Answer with a status, and do nothing. */
  | { readonly status: number; readonly message?: string }
  /** Cut the connection before the request is dealt with. */
  | "cut-before"
  /** Deal with the request, and cut the connection instead of answering. */
  | "cut-after"
  /** Send so many bytes of the answer's body, then cut the connection. */
  | { readonly cutAt: number }
  /** Send so many bytes of the answer's body, then nothing. */
  | { readonly stallAt: number }
  /** Send the answer's body in pieces of so many bytes, and wait between them. */
  | { readonly pieceBytes: number; readonly delayMs: number };

/** Chooses requests to fail. */
export type FaultChooser = (request: { readonly method: string; readonly url: string }) => ServerFault | undefined;

/** An answer that is ready to be sent. */
export interface ReadyAnswer {
  /** The HTTP status. */
  readonly status: number;
  /** Its headers, without Content-Length. */
  readonly headers: Readonly<Record<string, string>>;
  /** Its body. */
  readonly body: Buffer;
  /** The length to name for an answer to HEAD, which has no body. Default: the body's. */
  readonly namedLength?: number;
}

/** Sends an answer, as the fault has it. */
export async function sendAnswer(request: IncomingMessage, response: ServerResponse, { status, headers, body, namedLength }: ReadyAnswer, fault: ServerFault | undefined): Promise<void> {
  if (fault === "cut-after") return void request.socket.destroy();
  // 204 and 304 name no length.
  const length = status === 204 || status === 304 ? {} : { "content-length": String(namedLength ?? body.length) };
  response.writeHead(status, { ...headers, ...length });
  if (typeof fault === "object" && ("cutAt" in fault || "stallAt" in fault)) {
    const sent = "cutAt" in fault ? fault.cutAt : fault.stallAt;
    // Headers and bytes leave before the connection does.
    await new Promise((resolve) => response.write(body.subarray(0, sent), resolve));
    if ("cutAt" in fault) setImmediate(() => request.socket.destroy());
    return;
  }
  if (typeof fault === "object" && "pieceBytes" in fault) {
    let at = 0;
    for (; at + fault.pieceBytes < body.length; at += fault.pieceBytes) {
      response.write(body.subarray(at, at + fault.pieceBytes));
      await new Promise((resolve) => setTimeout(resolve, fault.delayMs));
    }
    return void response.end(body.subarray(at));
  }
  response.end(body);
}
