import fc from "fast-check";
import { expect, test } from "vitest";
import { ManualClock } from "../time/clock.js";
import { seededRandom } from "../time/random.js";
import { Delivery, type DeliveryOptions, type LossReason, type SendResult } from "./delivery.js";

interface Sent {
  readonly kind: string;
  readonly text: string;
  readonly id: string;
}

/** A delivery into a list, with a collector that answers as told. */
function setUp(answers: (sent: Sent, number: number) => SendResult | Promise<SendResult> = () => "delivered", more: Partial<DeliveryOptions<string>> = {}) {
  const clock = new ManualClock();
  const sent: Sent[] = [];
  const lost: Partial<Record<LossReason, number>> = {};
  const counts = { delivered: 0, retries: 0 };
  const delivery = new Delivery<string>({
    encode: (_kind, contents) => Buffer.from(contents.join(",")),
    send: async (kind, body, id) => {
      const one = { kind, text: Buffer.from(body).toString(), id };
      sent.push(one);
      return await answers(one, sent.length);
    },
    maxRecords: 10,
    maxBytes: 1000,
    batchRecords: 4,
    batchBytes: 100,
    delayMs: 1000,
    retryMs: 60_000,
    backoff: { random: seededRandom(1) },
    clock,
    onDelivered: (_kind, records) => void (counts.delivered += records),
    onLost: (_kind, records, reason) => void (lost[reason] = (lost[reason] ?? 0) + records),
    onRetry: () => void counts.retries++,
    ...more,
  });
  const offer = (text: string, { kind = "traces", bytes = text.length, records = 1 } = {}): void => delivery.offer({ kind, records, bytes, content: text });
  return { clock, sent, lost, counts, delivery, offer };
}

test("records travel in batches, in order, kinds apart, after the delay or when a batch is full", async () => {
  const { clock, sent, offer, delivery } = setUp();
  offer("a");
  offer("b");
  offer("m", { kind: "metrics" });
  await clock.advance(999);
  expect(sent).toEqual([]);
  await clock.advance(1);
  expect(sent.map(({ kind, text }) => [kind, text])).toEqual([["traces", "a,b"]]);
  await clock.advance(1000);
  for (const text of "cdefgh") offer(text);
  await clock.advance(0);
  expect(sent.map(({ kind, text }) => [kind, text]).slice(1)).toEqual([["metrics", "m"], ["traces", "c,d,e,f"]]);
  await delivery.flush();
  expect(sent.at(-1)?.text).toBe("g,h");
  expect([delivery.records, delivery.bytes, clock.sleeping]).toEqual([0, 0, 0]);
});

test("a batch that is sent again has the same bytes and the same id; others have other ids", async () => {
  const { clock, sent, counts, offer, delivery } = setUp((_sent, number) => (number === 1 ? {} : number === 2 ? Promise.reject(new Error("reset")) : number === 3 ? { retryAfterMs: 5000 } : "delivered"));
  offer("a");
  await clock.advance(3000);
  offer("b");
  expect(sent).toHaveLength(3);
  await clock.advance(3000);
  expect(sent).toHaveLength(3);
  await clock.advance(1000);
  expect(sent).toHaveLength(4);
  await delivery.flush();
  expect(new Set(sent.slice(0, 4).map((one) => JSON.stringify(one))).size).toBe(1);
  expect(sent[4]?.text).toBe("b");
  expect(sent[4]?.id).not.toBe(sent[0]?.id);
  expect(counts).toEqual({ delivered: 2, retries: 3 });
});

test("what is refused, too large, cannot be encoded, or cannot be delivered for too long is lost, and told by its reason", async () => {
  const refusing = setUp(() => "refused");
  refusing.offer("a");
  await refusing.delivery.flush();
  expect([refusing.lost, refusing.sent.length]).toEqual([{ refused: 1 }, 1]);

  const down = setUp(() => ({}));
  down.offer("a");
  await down.clock.advance(62_000);
  expect(down.lost).toEqual({ unreachable: 1 });

  const broken = setUp(undefined, { encode: () => { throw new Error("no"); } });
  broken.offer("a");
  await broken.delivery.flush();
  broken.offer("x".repeat(101));
  expect(broken.lost).toEqual({ broken: 1, oversize: 1 });

  // The sizes said too little: halves are sent, and what is too large alone is given up.
  const underestimated = setUp();
  underestimated.offer("y".repeat(60), { bytes: 1 });
  underestimated.offer("z".repeat(60), { bytes: 1 });
  underestimated.offer("w".repeat(150), { bytes: 1 });
  await underestimated.delivery.flush();
  expect(underestimated.sent.map(({ text }) => text[0])).toEqual(["y", "z"]);
  expect(underestimated.lost).toEqual({ oversize: 1 });
});

test("the end sends what is there within its time, drops the rest, and takes nothing more", async () => {
  const quick = setUp();
  for (const text of "abcdef") quick.offer(text);
  await quick.delivery.close(5000);
  quick.offer("late");
  expect(quick.sent.map(({ text }) => text)).toEqual(["a,b,c,d", "e,f"]);
  expect(quick.lost).toEqual({ shutdown: 1 });

  const hanging = setUp(() => new Promise<never>(() => undefined));
  for (const text of "abcdef") hanging.offer(text);
  const closed = hanging.delivery.close(5000);
  await hanging.clock.advance(4999);
  expect(hanging.lost).toEqual({});
  await hanging.clock.advance(1);
  await closed;
  expect(hanging.lost).toEqual({ shutdown: 6 });
  expect([hanging.delivery.records, hanging.clock.sleeping]).toEqual([0, 0]);
});

test("caps are never exceeded, offering never throws, and every record is delivered or lost exactly once, whatever the collector does", async () => {
  const answer = fc.constantFrom<SendResult | "reset" | "hang">("delivered", "delivered", "refused", {}, { retryAfterMs: 2000 }, "reset", "hang");
  const step = fc.oneof(fc.record({ offer: fc.integer({ min: 0, max: 120 }), kind: fc.constantFrom("traces", "metrics") }), fc.record({ advance: fc.integer({ min: 0, max: 20_000 }) }));
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.array(answer, { minLength: 1, maxLength: 10 }), async (steps, answers) => {
      const open = new Map<string, string>();
      const { clock, sent, lost, counts, delivery, offer } = setUp((one, number) => {
        const chosen = answers[number % answers.length];
        open.set(one.id, one.text);
        if (chosen === "reset") return Promise.reject(new Error("reset"));
        // A request that hangs ends by its own time limit, as the sender's does.
        if (chosen === "hang") return clock.sleep(10_000).then(() => Promise.reject(new Error("time-out")));
        return chosen ?? "delivered";
      }, { maxBytes: 300 });
      let offered = 0;
      for (const one of steps) {
        if ("advance" in one) await clock.advance(one.advance);
        else {
          offered++;
          offer(`${String(offered)}:`.padEnd(one.offer, "x"), { kind: one.kind });
        }
        expect(delivery.records).toBeLessThanOrEqual(10);
        expect(delivery.bytes).toBeLessThanOrEqual(300);
      }
      const closed = delivery.close(5000);
      await clock.advance(5000);
      await closed;
      const total = counts.delivered + Object.values(lost).reduce((sum, count) => sum + count, 0);
      expect(total).toBe(offered);
      for (const { id, text } of sent) {
        expect(open.get(id)).toBe(text);
        expect(text.length).toBeLessThanOrEqual(100);
      }
    }),
    { numRuns: 100 },
  );
});
