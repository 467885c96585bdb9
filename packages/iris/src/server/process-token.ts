import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { type Authenticator, Secret } from "@marin/rigging";

/** A token that opens everything as long as this process lives: for the commands of this machine, which read it from a file that only its user can read. */
export function processToken(): { readonly token: Secret; readonly authenticator: Authenticator } {
  const token = new Secret("of the controller's process", `iris_${randomBytes(32).toString("base64url")}`);
  const name = "process-token";
  const expected = digest(`Bearer ${token.reveal()}`);
  const principal = { name: "local", scopes: ["*"], authenticator: name };
  return {
    token,
    authenticator: {
      name,
      authenticate: ({ headers }) => (timingSafeEqual(expected, digest(String(headers["authorization"] ?? ""))) ? { outcome: "authenticated", principal } : { outcome: "absent" }),
    },
  };
}

/** Of one length whatever was sent, so that comparing tells nothing. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
