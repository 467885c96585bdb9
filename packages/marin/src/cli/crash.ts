import { MarinError } from "@marin/rigging";

/**
 * Listens for what would end the process behind the command's back: an error that nothing catches, a rejected promise that nothing awaits, and
 * the end of all work while the run still waits.
 *
 * @param onCrash - told the error; should leave the process
 */
export function listenForCrash(onCrash: (error: unknown) => void): { close(): void } {
  const onStall = (): void => {
    onCrash(new MarinError("MARIN_STALLED", "the run waits for a promise that nothing is left to settle"));
  };
  // Rejections that nothing awaits arrive here too.
  process.on("uncaughtException", onCrash);
  process.on("beforeExit", onStall);
  return {
    close(): void {
      process.off("uncaughtException", onCrash);
      process.off("beforeExit", onStall);
    },
  };
}
