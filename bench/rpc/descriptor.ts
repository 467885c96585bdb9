/** The messages and the service as protobuf describes files, for the implementations that need it: nothing is generated. */
const fileDescriptorSet = {
  file: [
    {
      name: "echo.proto",
      package: "bench",
      syntax: "proto3",
      messageType: [
        { name: "Echo", field: [field("name", 1, "TYPE_STRING"), field("count", 2, "TYPE_INT32"), field("body", 3, "TYPE_STRING")] },
        { name: "Flood", field: [field("items", 1, "TYPE_INT32"), field("bytes", 2, "TYPE_INT32")] },
        { name: "Part", field: [field("data", 1, "TYPE_BYTES")] },
      ],
      service: [
        {
          name: "Bench",
          method: [
            { name: "Echo", inputType: ".bench.Echo", outputType: ".bench.Echo" },
            { name: "Flood", inputType: ".bench.Flood", outputType: ".bench.Part", serverStreaming: true },
          ],
        },
      ],
    },
  ],
};

function field(name: string, number: number, type: string) {
  return { name, number, type, label: "LABEL_OPTIONAL", jsonName: name };
}

/** A copy: the libraries write to what they are given. */
export function descriptorSet(): typeof fileDescriptorSet {
  return structuredClone(fileDescriptorSet);
}
