import koffi from "koffi";
import type { KoffiFunc } from "koffi";

/** What this machine offers to programs that use Vulkan. */
export interface VulkanReport {
  /** Whether the loader, which knows the installed drivers, could be loaded. */
  readonly loader: boolean;
  /** Names of the devices that the drivers report. */
  readonly adapters: readonly string[];
}

/** Positions in `VkPhysicalDeviceProperties`, which begins with five 32-bit numbers, and a size that is more than it ever takes. */
const properties = { deviceName: 20, byteLength: 4096 } as const;

const maxDevices = 16;

/** Bytes of `VkInstanceCreateInfo`, and its type's number, which is its first field; all others are zero. */
const instanceCreateInfo = { byteLength: 64, type: 1 } as const;

type VulkanCall = KoffiFunc<(...args: readonly unknown[]) => number>;

/** Name of the Vulkan loader on this platform; `undefined` where WebGPU does not go through Vulkan. */
export function vulkanLoaderName(): string | undefined {
  return process.platform === "linux" ? "libvulkan.so.1" : undefined;
}

/**
 * Asks the Vulkan loader which devices there are. Nothing is started on them. `undefined` on platforms where WebGPU goes through Metal or Direct3D.
 */
export function vulkanReport(): VulkanReport | undefined {
  const name = vulkanLoaderName();
  if (name === undefined) return undefined;
  let library;
  try {
    library = koffi.load(name);
  } catch {
    return { loader: false, adapters: [] };
  }
  const createInstance = library.func("vkCreateInstance", "int", ["void *", "void *", "void *"]) as VulkanCall;
  const enumerate = library.func("vkEnumeratePhysicalDevices", "int", ["void *", "void *", "void *"]) as VulkanCall;
  const describe = library.func("vkGetPhysicalDeviceProperties", "void", ["void *", "void *"]) as VulkanCall;
  const destroyInstance = library.func("vkDestroyInstance", "void", ["void *", "void *"]) as VulkanCall;
  const info = new Uint8Array(instanceCreateInfo.byteLength);
  info[0] = instanceCreateInfo.type;
  const instance = new BigUint64Array(1);
  if (createInstance(info, null, instance) !== 0) return { loader: true, adapters: [] };
  try {
    const count = Uint32Array.of(maxDevices);
    const devices = new BigUint64Array(maxDevices);
    if (enumerate(instance[0], count, devices) < 0) return { loader: true, adapters: [] };
    const adapters = Array.from(devices.subarray(0, count[0]), (device) => {
      const bytes = Buffer.alloc(properties.byteLength);
      describe(device, bytes);
      return bytes.toString("utf8", properties.deviceName, bytes.indexOf(0, properties.deviceName));
    });
    return { loader: true, adapters };
  } finally {
    destroyInstance(instance[0], null);
  }
}
