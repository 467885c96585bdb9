import * as pulumi from "@pulumi/pulumi";
import { createCloud } from "../gcp/cloud.js";
import { parseCloudConfig } from "../gcp/config.js";

/** One resource as the program asked the engine for it. */
export interface Requested {
  readonly type: string;
  readonly name: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  /** Whether Pulumi refuses to delete it. */
  readonly protect: boolean;
}

/** What a stack with this configuration asks for, and what it tells afterwards, on Pulumi's mocks: nothing leaves this process. */
export async function record(configuration: unknown): Promise<{ resources: Requested[]; outputs: Record<string, unknown> }> {
  const resources: Requested[] = [];
  const protectedNames = new Set<string>();
  await pulumi.runtime.setMocks(
    {
      call: ({ token }) => Promise.reject(new Error(`the program called ${token}`)),
      newResource({ type, name, inputs }) {
        resources.push({ type, name, inputs, protect: protectedNames.has(`${type}::${name}`) });
        return { id: `${name}-id`, state: { ...inputs, ...computed(type, inputs) } };
      },
    },
    "marin",
    "test",
  );
  const monitor = pulumi.runtime.getMonitor() as unknown as { registerResource(request: RegisterRequest, callback: unknown): Promise<void> };
  const register = monitor.registerResource.bind(monitor);
  monitor.registerResource = (request, callback) => {
    if (request.getProtect()) protectedNames.add(`${request.getType()}::${request.getName()}`);
    return register(request, callback);
  };
  const outputs = await new Promise<Record<string, unknown>>((resolve) => {
    pulumi.output(createCloud(parseCloudConfig(configuration))).apply((told) => resolve(told as unknown as Record<string, unknown>));
  });
  await pulumi.runtime.disconnect();
  return { resources, outputs };
}

interface RegisterRequest {
  getProtect(): boolean;
  getType(): string;
  getName(): string;
}

/** What Google fills in. */
function computed(type: string, inputs: Readonly<Record<string, unknown>>): Record<string, unknown> {
  if (type === "gcp:serviceaccount/account:Account") {
    const email = `${String(inputs["accountId"])}@${String(inputs["project"])}.iam.gserviceaccount.com`;
    return { email, member: `serviceAccount:${email}`, name: `projects/${String(inputs["project"])}/serviceAccounts/${email}` };
  }
  return type === "gcp:storage/bucket:Bucket" ? { url: `gs://${String(inputs["name"])}` } : {};
}
