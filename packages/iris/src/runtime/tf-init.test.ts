import { describe, expect, test } from "vitest";
import { silentLogger } from "../platform.js";
import { localRegistry } from "./endpoints.js";
import { type LocalContextOptions, withLocalContext } from "./local-context.js";
import { type IrisTfOptions, type IrisTfRuntime, type TfEnginePort, initializeIrisTf } from "./tf-init.js";

/** Writes down what it is told. */
class Engine implements TfEnginePort {
  readonly told: unknown[] = [];

  setThreads(threads: number): void {
    this.told.push(threads);
  }

  async setDevice(device: string): Promise<void> {
    this.told.push(device);
  }
}

async function initialize(context: LocalContextOptions, options: IrisTfOptions = {}): Promise<IrisTfRuntime & { told: unknown[] }> {
  const engine = new Engine();
  const runtime = await withLocalContext({ log: silentLogger, ...context }, () => initializeIrisTf(engine, options));
  return { ...runtime, told: engine.told };
}

describe("initializeIrisTf", () => {
  test.each([
    [{ cpu: 0, memoryBytes: 0, diskBytes: 0 }, 1, "cpu"],
    [{ cpu: 2.5, memoryBytes: 0, diskBytes: 0 }, 3, "cpu"],
    [{ cpu: 8, memoryBytes: 0, diskBytes: 0, device: { kind: "gpu" as const, count: 2 } }, 8, "gpu"],
  ])("of a task that was given %j uses %i threads, on the %s", async (resources, threads, device) => {
    expect(await initialize({ resources })).toEqual({ threads, device, rank: 0, worldSize: 1, rendezvous: undefined, told: [threads, device] });
  });

  test("tasks meet at the port of task 0, whoever comes first", async () => {
    const registry = localRegistry("test");
    const resources = { cpu: 1, memoryBytes: 0, diskBytes: 0 };
    const later = initialize({ registry, resources, jobId: "/gang", taskIndex: 1, numTasks: 2, ports: { rendezvous: 20_002 } });
    let leave: () => void = () => undefined;
    const staying = new Promise<void>((resolve) => (leave = resolve));
    const first = withLocalContext({ registry, resources, log: silentLogger, jobId: "/gang", taskIndex: 0, numTasks: 2, ports: { rendezvous: 20_001 } }, async () => {
      const runtime = await initializeIrisTf({ setThreads: () => undefined });
      await staying;
      return runtime;
    });
    expect(await later).toMatchObject({ rank: 1, worldSize: 2, rendezvous: "127.0.0.1:20001" });
    leave();
    expect(await first).toMatchObject({ rank: 0, worldSize: 2, rendezvous: "127.0.0.1:20001" });
    expect(await registry.resolve("/gang/rendezvous")).toBeUndefined();
  });

  test("tasks without a port to meet at, or whose task 0 does not come, or that are cancelled meanwhile, say so", async () => {
    await expect(initialize({ taskIndex: 0, numTasks: 2 })).rejects.toMatchObject({ code: "IRIS_NO_PORT" });
    await expect(initialize({ taskIndex: 1, numTasks: 2 }, { timeoutMs: 50 })).rejects.toMatchObject({ code: "IRIS_RENDEZVOUS_TIMEOUT" });
    await expect(initialize({ taskIndex: 1, numTasks: 2, signal: AbortSignal.timeout(50) })).rejects.toMatchObject({ name: "AbortError" });
  });
});
