import { connect, createServer, type AddressInfo } from "node:net";
import { report } from "./protocol.js";

const SECONDS = 0.5;

/** Round trips of 100 bytes each second, within this process: what the machine's loopback and one core give at the time. */
async function roundTrips(): Promise<number> {
  const server = createServer((socket) => socket.setNoDelay().pipe(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1").setNoDelay();
  const bytes = Buffer.alloc(100);
  const begun = performance.now();
  const until = begun + SECONDS * 1_000;
  let trips = 0;
  await new Promise<void>((resolve) => {
    socket.on("data", () => {
      trips += 1;
      if (performance.now() < until) socket.write(bytes);
      else resolve();
    });
    socket.write(bytes);
  });
  socket.destroy();
  server.close();
  return (trips / (performance.now() - begun)) * 1_000;
}

/** Turns of a loop of JSON each second: what one core gives. */
function turns(): number {
  const value = { name: "calibration", list: Array.from({ length: 50 }, (_, n) => n) };
  const begun = performance.now();
  let count = 0;
  while (performance.now() - begun < SECONDS * 1_000) {
    for (let turn = 0; turn < 100; turn += 1) JSON.parse(JSON.stringify(value));
    count += 100;
  }
  return (count / (performance.now() - begun)) * 1_000;
}

report({ version: process.version, roundTripsPerSecond: await roundTrips(), turnsPerSecond: turns() });
