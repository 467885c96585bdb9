import type { Identity } from "./identity.js";

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
  /** Whether carrying it out twice is the same as once: only then does a {@link Channel} send a call again whose answer was lost. */
  readonly idempotent: boolean;
}

/** A method that takes one value and answers with a stream. Made by {@link serverStream}. */
export interface ServerStreamMethod<I extends Schema = Schema, O extends Schema = Schema> {
  readonly kind: "serverStream";
  readonly input: I;
  /** Of one item. */
  readonly output: O;
}

/** A method that takes a stream and answers with one value. Made by {@link clientStream}. */
export interface ClientStreamMethod<I extends Schema = Schema, O extends Schema = Schema> {
  readonly kind: "clientStream";
  /** Of one item. */
  readonly input: I;
  readonly output: O;
}

/** A method that takes a stream and answers with one, at the same time. Made by {@link bidiStream}. */
export interface BidiStreamMethod<I extends Schema = Schema, O extends Schema = Schema> {
  readonly kind: "bidiStream";
  /** Of one item of the caller. */
  readonly input: I;
  /** Of one item of the answer. */
  readonly output: O;
}

/** Any method of a contract. */
export type Method = UnaryMethod | ServerStreamMethod | ClientStreamMethod | BidiStreamMethod;

/** The methods of a service, by name. */
export type Methods = Readonly<Record<string, Method>>;

/** A named set of methods, known to both ends. Made by {@link defineService}. */
export interface Service<M extends Methods = Methods> {
  readonly name: string;
  readonly methods: M;
}

/** Settings of one call. */
export interface CallOptions {
  /** Ends the call when aborted: the caller gets the signal's reason, the handler's signal is aborted. Default: never. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds after which both ends give up. Default: none. */
  readonly timeoutMs?: number | undefined;
}

/**
 * What a handler is told about the call. It is itself {@link CallOptions}: handed on to the calls that the handler makes,
 * `client.next(input, call)`, it passes on cancellation and what is left of the deadline, over any number of hops.
 */
export interface CallContext extends CallOptions {
  /** Aborted when the answer is no longer wanted: the caller cancelled, the deadline passed, the connection closed. */
  readonly signal: AbortSignal;
  /** Milliseconds left until the caller gives up, never less than 1; undefined without a deadline. */
  readonly timeoutMs: number | undefined;
  /** Who calls, as the server's `authenticate` said; undefined where none was asked. */
  readonly identity: Identity | undefined;
}

/** What a stream may be made of. */
export type Items<T> = AsyncIterable<T> | Iterable<T>;

/**
 * The methods of a service as the caller sees them. The call of a method that answers with a stream starts when its first item is asked
 * for; leaving the loop ends it. The items of a caller's own stream are asked for as fast as the other end takes them; if they throw, the
 * call ends with that error.
 */
export type ServiceClient<M extends Methods> = {
  readonly [K in keyof M]: M[K] extends UnaryMethod<infer I, infer O>
    ? (input: SchemaInput<I>, options?: CallOptions) => Promise<SchemaOutput<O>>
    : M[K] extends ServerStreamMethod<infer I, infer O>
      ? (input: SchemaInput<I>, options?: CallOptions) => AsyncIterableIterator<SchemaOutput<O>>
      : M[K] extends ClientStreamMethod<infer I, infer O>
        ? (items: Items<SchemaInput<I>>, options?: CallOptions) => Promise<SchemaOutput<O>>
        : M[K] extends BidiStreamMethod<infer I, infer O>
          ? (items: Items<SchemaInput<I>>, options?: CallOptions) => AsyncIterableIterator<SchemaOutput<O>>
          : never;
};

/**
 * The methods of a service as the one who serves it writes them. The `items` of a caller's stream throw when the caller breaks off, so that
 * half a stream never looks like a whole one.
 */
export type ServiceHandlers<M extends Methods> = {
  readonly [K in keyof M]: M[K] extends UnaryMethod<infer I, infer O>
    ? (input: SchemaOutput<I>, call: CallContext) => SchemaInput<O> | Promise<SchemaInput<O>>
    : M[K] extends ServerStreamMethod<infer I, infer O>
      ? (input: SchemaOutput<I>, call: CallContext) => Items<SchemaInput<O>>
      : M[K] extends ClientStreamMethod<infer I, infer O>
        ? (items: AsyncIterableIterator<SchemaOutput<I>>, call: CallContext) => SchemaInput<O> | Promise<SchemaInput<O>>
        : M[K] extends BidiStreamMethod<infer I, infer O>
          ? (items: AsyncIterableIterator<SchemaOutput<I>>, call: CallContext) => Items<SchemaInput<O>>
          : never;
};

/** What makes calls: a {@link Connection}, or a {@link Channel}, which connects anew. */
export interface Caller {
  /** The other end's service. Whether it serves it shows at the first call. */
  client<M extends Methods>(service: Service<M>): ServiceClient<M>;
}

/**
 * A method with one answer. Both ends check both values; what travels is what the sender gave, so that a schema's defaults
 * and transformations are applied once, where the value arrives.
 *
 * @param spec - schemas of the argument and of the answer; `idempotent` (default: false) where a call may be carried out twice
 */
export function unary<I extends Schema, O extends Schema>(spec: { readonly input: I; readonly output: O; readonly idempotent?: boolean }): UnaryMethod<I, O> {
  const { input, output, idempotent = false } = spec;
  return { kind: "unary", input, output, idempotent };
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
 * A method that takes a stream and has one answer, which may come before the stream has ended: the rest is then not asked for.
 *
 * @param spec - schemas of one item and of the answer
 */
export function clientStream<I extends Schema, O extends Schema>(spec: { readonly input: I; readonly output: O }): ClientStreamMethod<I, O> {
  return { kind: "clientStream", ...spec };
}

/**
 * A method with a stream in either direction, each as fast as the other end takes it. The call ends with the answer's stream.
 *
 * @param spec - schemas of one item of the caller and of one item of the answer
 */
export function bidiStream<I extends Schema, O extends Schema>(spec: { readonly input: I; readonly output: O }): BidiStreamMethod<I, O> {
  return { kind: "bidiStream", ...spec };
}

/**
 * Names a set of methods.
 *
 * @param name - unique on a connection, for example "iris.task"
 * @param methods - made by {@link unary}, {@link serverStream}, {@link clientStream} and {@link bidiStream}
 */
export function defineService<M extends Methods>(name: string, methods: M): Service<M> {
  return { name, methods };
}
