import type { Command, CommanderError } from "commander";
import { closest, distance } from "fastest-levenshtein";
import { MarinError } from "../platform.js";

/** A mistake in the command's arguments. */
export function usageError(message: string, data: Readonly<Record<string, unknown>> = {}): MarinError {
  return new MarinError("IRIS_USAGE", message, { data });
}

/** What commander says of wrong arguments, with the nearest right ones. */
export function explainUsage(error: CommanderError, program: Command, argv: readonly string[]): MarinError {
  const message = error.message.replace(/^error: /, "");
  const named = program.commands.find((command) => command.name() === argv.find((word) => !word.startsWith("-")));
  const command = named ?? program;
  const where = named === undefined ? "iris" : `iris ${named.name()}`;
  if (error.code === "commander.unknownOption") {
    const flag = /'(-[^'=]*)/.exec(message)?.[1] ?? "";
    const flags = [...command.options.flatMap(({ long, short }) => [long, short]), "--help"].filter((each) => each !== undefined && each !== null);
    const advice = named?.registeredArguments.some((argument) => argument.name() === "command") === true ? "; what belongs to the job's own command stands behind --" : "";
    return usageError(`${where} has no flag ${flag}: did you mean ${closest(flag, flags)}?${advice}`, { flag });
  }
  if (error.code === "commander.unknownCommand") {
    const word = /'([^']*)'/.exec(message)?.[1] ?? "";
    return usageError(`iris has no command ${word}: ${nearestCommand(word, program)}`, { command: word });
  }
  return usageError(`${where}: ${message.replace(/\.$/, "")}; iris ${named?.name() ?? "<command>"} --help shows how`);
}

function nearestCommand(word: string, program: Command): string {
  const names = program.commands.map((command) => command.name());
  const nearest = closest(word, names);
  return distance(word, nearest) <= Math.max(2, word.length / 2) ? `did you mean ${nearest}?` : `it has ${names.join(", ")}`;
}
