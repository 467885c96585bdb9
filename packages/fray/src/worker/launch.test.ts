import { expect, test } from "vitest";
import { launch } from "./launch.js";

const loader = expect.stringMatching(/^file:.*\/tsx\/dist\/loader\.mjs$/);

test("from TypeScript sources, a worker gets what they need, whatever this process was started with", () => {
  for (const flags of [[], ["--conditions=@marin/source", "--import", "tsx"], ["--import=tsx"], ["--conditions", "@marin/source", "--import", "file:///somewhere/node_modules/tsx/dist/loader.mjs"]]) {
    const { main, execArgv } = launch(flags);
    expect(main.pathname).toMatch(/main\.ts$/);
    expect(execArgv.filter((flag) => flag === "--import")).toHaveLength(1);
    expect(execArgv.at(-1)).toEqual(loader);
    expect(execArgv.join(" ").match(/@marin\/source/g)).toHaveLength(1);
  }
});

test("flags that are about the one process are not inherited, all others are", () => {
  const { execArgv } = launch(["--inspect-brk=9229", "--input-type=module", "-e", "await work()", "--import", "./setup.mjs", "--watch", "--max-old-space-size=100"]);
  expect(execArgv).toEqual(["--import", "./setup.mjs", "--max-old-space-size=100", "--conditions=@marin/source", "--import", loader]);
});
