/** Names a service that one package offers and another asks for, without either importing the other. */
export interface ExtensionKey<T> {
  /** Unique name, "package.service". Two keys of the same name are the same key, also across copies of this package. */
  readonly name: string;
  /** Carries the type only; never set. */
  readonly type?: T;
}

/** A service together with the key it is asked for by. Made by {@link provide}. */
export interface ProvidedExtension {
  /** The key's name. */
  readonly name: string;
  /** The service. */
  readonly implementation: unknown;
}

/**
 * Declares a service that a context may or may not offer.
 *
 * @param name - unique, "package.service"
 */
export function defineExtension<T>(name: string): ExtensionKey<T> {
  return { name };
}

/**
 * Pairs a service with its key, so that the type checker sees that they fit. Hand the result to `withLocalContext`.
 *
 * @param key - what it will be asked for by
 * @param implementation - the service
 */
export function provide<T>(key: ExtensionKey<T>, implementation: T): ProvidedExtension {
  return { name: key.name, implementation };
}
