import protobuf from "protobufjs";

// The part of TensorFlow's event.proto, summary.proto, tensor.proto and tensor_shape.proto that scalars and texts use; field numbers are TensorFlow's.
const SCHEMA = {
  nested: {
    Event: {
      fields: {
        wallTime: { type: "double", id: 1 }, step: { type: "int64", id: 2 }, fileVersion: { type: "string", id: 3 }, summary: { type: "Summary", id: 5 },
      },
    },
    Summary: {
      fields: { value: { rule: "repeated", type: "Value", id: 1 } },
      nested: {
        Value: {
          fields: {
            tag: { type: "string", id: 1 }, simpleValue: { type: "float", id: 2 }, tensor: { type: "TensorProto", id: 8 },
            metadata: { type: "SummaryMetadata", id: 9 },
          },
        },
      },
    },
    SummaryMetadata: { fields: { pluginData: { type: "PluginData", id: 1 } }, nested: { PluginData: { fields: { pluginName: { type: "string", id: 1 } } } } },
    TensorProto: {
      fields: { dtype: { type: "int32", id: 1 }, tensorShape: { type: "TensorShapeProto", id: 2 }, stringVal: { rule: "repeated", type: "bytes", id: 8 } },
    },
    TensorShapeProto: { fields: { dim: { rule: "repeated", type: "Dim", id: 2 } }, nested: { Dim: { fields: { size: { type: "int64", id: 1 } } } } },
  },
} as const;

const Event = protobuf.Root.fromJSON(SCHEMA).lookupType("Event");

/** TensorFlow's number for the element type of texts. */
const DT_STRING = 7;

/** One value of an event. */
export type EventValue = { readonly tag: string; readonly scalar: number } | { readonly tag: string; readonly text: string };

/** The first event of a file, which names the format. `wallTime` in seconds since 1970. */
export function encodeVersionEvent(wallTime: number): Uint8Array {
  return encode({ wallTime, step: 0, fileVersion: "brain.Event:2" });
}

/** An event with the values of a step. Scalars are stored as float32, texts as TensorBoard's text plugin reads them (Markdown). */
export function encodeSummaryEvent(wallTime: number, step: number, values: readonly EventValue[]): Uint8Array {
  const value = values.map((each) =>
    "scalar" in each
      ? { tag: each.tag, simpleValue: each.scalar }
      : {
          tag: each.tag,
          metadata: { pluginData: { pluginName: "text" } },
          tensor: { dtype: DT_STRING, tensorShape: { dim: [{ size: 1 }] }, stringVal: [new TextEncoder().encode(each.text)] },
        },
  );
  return encode({ wallTime, step, summary: { value } });
}

/** The step of an encoded event. */
export function stepOfEvent(event: Uint8Array): number {
  return Number((Event.decode(event) as unknown as { readonly step: unknown }).step);
}

function encode(event: Readonly<Record<string, unknown>>): Uint8Array {
  return Event.encode(Event.create(event)).finish();
}
