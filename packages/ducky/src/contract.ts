/** One thing that is wrong with a value, as a schema says it. */
export interface SchemaIssue {
  /** What is wrong, for people. */
  readonly message: string;
  /** Where in the value: keys from the outside in. */
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined;
}

/** What a {@link Schema} answers: the value, or what is wrong with it. */
export type SchemaResult<T> = { readonly value: T; readonly issues?: undefined } | { readonly issues: readonly SchemaIssue[] };

/**
 * A schema: any that implements the [Standard Schema](https://standardschema.dev) interface, which zod's do. Only its
 * `validate` is called, so this package loads no schema library itself.
 */
export interface Schema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** What may be given to a schema: of a zod object with defaults, the fields that have one may be missing. */
export type SchemaInput<S extends Schema> = NonNullable<S["~standard"]["types"]>["input"];

/** What a schema gives. */
export type SchemaOutput<S extends Schema> = NonNullable<S["~standard"]["types"]>["output"];

/** A method that takes one value and answers with one. Made by {@link unary}. */
export interface UnaryMethod<I extends Schema = Schema, O extends Schema = Schema> {
  readonly kind: "unary";
  readonly input: I;
  readonly output: O;
}

/** A method that takes one value and answers with a stream. Made by {@link serverStream}. */
export interface ServerStreamMethod<I extends Schema = Schema, O extends Schema = Schema> {
  readonly kind: "serverStream";
  readonly input: I;
  /** Of one item. */
  readonly output: O;
}

/** The methods of a service, by name. */
export type Methods = Readonly<Record<string, UnaryMethod | ServerStreamMethod>>;

/** A named set of methods, known to both ends. Made by {@link defineService}. */
export interface Service<M extends Methods = Methods> {
  readonly name: string;
  readonly methods: M;
}

/** Settings of one call. */
export interface CallOptions {
  /** Ends the call when aborted: the caller gets the signal's reason, the handler's signal is aborted. Default: never. */
  readonly signal?: AbortSignal;
  /** Milliseconds after which both ends give up. Default: none. */
  readonly timeoutMs?: number;
}

/** What a handler is told about the call. */
export interface CallContext {
  /** Aborted when the answer is no longer wanted: the caller cancelled, the deadline passed, the connection closed. */
  readonly signal: AbortSignal;
  /** Milliseconds left until the caller gives up, to be handed on to calls made for this one; undefined without a deadline. */
  remainingMs(): number | undefined;
}

/** The methods of a service as the caller sees them. A stream's call starts when its first item is asked for; leaving the loop ends it. */
export type ServiceClient<M extends Methods> = {
  readonly [K in keyof M]: M[K] extends UnaryMethod<infer I, infer O>
    ? (input: SchemaInput<I>, options?: CallOptions) => Promise<SchemaOutput<O>>
    : M[K] extends ServerStreamMethod<infer I, infer O>
      ? (input: SchemaInput<I>, options?: CallOptions) => AsyncIterableIterator<SchemaOutput<O>>
      : never;
};

/** The methods of a service as the one who serves it writes them. */
export type ServiceHandlers<M extends Methods> = {
  readonly [K in keyof M]: M[K] extends UnaryMethod<infer I, infer O>
    ? (input: SchemaOutput<I>, call: CallContext) => SchemaInput<O> | Promise<SchemaInput<O>>
    : M[K] extends ServerStreamMethod<infer I, infer O>
      ? (input: SchemaOutput<I>, call: CallContext) => AsyncIterable<SchemaInput<O>> | Iterable<SchemaInput<O>>
      : never;
};

/**
 * A method with one answer. Both ends check both values; what travels is what the sender gave, so that a schema's defaults
 * and transformations are applied once, where the value arrives.
 *
 * @param spec - schemas of the argument and of the answer
 */
export function unary<I extends Schema, O extends Schema>(spec: { readonly input: I; readonly output: O }): UnaryMethod<I, O> {
  return { kind: "unary", ...spec };
}

/**
 * A method that answers with a stream.
 *
 * @param spec - schemas of the argument and of one item
 */
export function serverStream<I extends Schema, O extends Schema>(spec: { readonly input: I; readonly output: O }): ServerStreamMethod<I, O> {
  return { kind: "serverStream", ...spec };
}

/**
 * Names a set of methods.
 *
 * @param name - unique on a connection, for example "iris.task"
 * @param methods - made by {@link unary} and {@link serverStream}
 */
export function defineService<M extends Methods>(name: string, methods: M): Service<M> {
  return { name, methods };
}
