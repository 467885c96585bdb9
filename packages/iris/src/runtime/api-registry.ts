import type { IrisApi } from "../client/iris-api.js";
import type { Registry } from "./endpoints.js";

/** The registry of the controller that an attempt may use. Leases are renewed by its worker. */
export function registryOf(api: IrisApi): Registry {
  return {
    register: async (name, address, metadata = {}) => {
      const { endpoint } = await api.register({ name, address, metadata });
      let closing: Promise<unknown> | undefined;
      return { close: async () => void (await (closing ??= api.unregister({ endpoint }))) };
    },
    resolve: async (name) => (await api.resolve({ name })).address ?? undefined,
  };
}
