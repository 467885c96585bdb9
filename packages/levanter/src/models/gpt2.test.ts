import { expect, test } from "vitest";
import { gpt2, type Gpt2Config } from "./gpt2.js";

test("a configuration that is not valid is one error naming each field", () => {
  const refused: readonly [object, RegExp][] = [
    [{ vocabSize: 0 }, /vocabSize: /],
    [{ vocabSize: 10, hiddenSize: 10, heads: 3 }, /hiddenSize: hiddenSize must be a multiple of heads/],
    [{ vocabSize: 10, hidenSize: 8 }, /configuration: .*hidenSize/],
  ];
  for (const [config, message] of refused) {
    expect(() => gpt2(config as Gpt2Config)).toThrow(expect.objectContaining({ code: "LEVANTER_CONFIG", message: expect.stringMatching(message) as string }) as Error);
  }
});
