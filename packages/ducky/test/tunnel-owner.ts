/** Opens a tunnel through kubectl and waits, to be killed by tests. */
import { openKubectlTunnel } from "@marin/ducky";

const { port } = await openKubectlTunnel({ resource: "pod/p", port: 80 });
process.stdout.write(`${port}\n`);
setInterval(() => undefined, 60_000);
