// Stands in for kubectl in tests: forwards a port as `kubectl port-forward` does, and does what FAKE_KUBECTL asks for besides.
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { connect, createServer } from "node:net";

const { FAKE_KUBECTL: behaviour = "", FAKE_TARGET: target = "", FAKE_LOG: log = "" } = process.env;
const note = (record) => appendFileSync(log, `${JSON.stringify(record)}\n`);

if (behaviour === "fails") {
  process.stderr.write('Error from server (NotFound): services "nowhere" not found\n');
  process.exit(1);
}
const stubborn = behaviour === "stubborn" ? "process.on('SIGTERM', () => {});" : "";
const helper = spawn(process.execPath, ["-e", `${stubborn} setInterval(() => {}, 1_000); process.send("up")`], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
helper.once("message", () => {
  helper.disconnect();
  helper.unref();
  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ port: Number(target), host: "127.0.0.1", allowHalfOpen: true });
    for (const socket of [near, far]) socket.on("error", () => undefined);
    near.pipe(far).pipe(near);
  });
  server.listen(0, "127.0.0.1", () => {
    note({ args: process.argv.slice(2), pids: [process.pid, helper.pid] });
    if (behaviour !== "silent") process.stdout.write(`Forwarding from 127.0.0.1:${server.address().port} -> 8080\n`);
  });
});
