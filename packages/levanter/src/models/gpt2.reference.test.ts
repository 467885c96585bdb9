import { Fixture } from "../../test/reference/fixtures.js";
import { modelOf, type ParityIndex } from "../../test/reference/gpt2-runs.js";
import { describeParity } from "../../test/reference/parity.js";

const fixture = Fixture.open<ParityIndex>("gpt2");
const { index } = fixture;

/** The key third of a joint projection's bias adds the same to all scores of a row, so its gradient is 0 and what is computed is rounding. */
function withoutKeyBias(name: string, values: ArrayLike<number>): number[] {
  const all = Array.from(values);
  const { width } = index.shape;
  return name.endsWith("attn.c_attn.bias") ? [...all.slice(0, width), ...all.slice(2 * width)] : all;
}

describeParity({ name: "GPT-2", model: modelOf(index), index, fixture, determined: withoutKeyBias });
