import type { CompiledQuery, RawBuilder } from 'kysely'
import type { Reader } from './db.ts'

/** A parameter of a statement. Its value is known when the statement runs. */
export class Param<V, T> {
  readonly #read: (values: V) => T

  constructor(read: (values: V) => T) {
    this.#read = read
  }

  valueOf(values: V): T {
    return this.#read(values)
  }

  map<U>(change: (value: T) => U): Param<V, U> {
    return new Param((values) => change(this.#read(values)))
  }
}

/** Returns the parameter with the value of this name. */
export type ParamOf<V> = <K extends keyof V>(name: K) => Param<V, V[K]>

/**
 * Declares a statement that is built and compiled once: for one that runs often, that costs several times as much as
 * sending it.
 * @param build The statement must have the same text for all values.
 */
export function statement<V extends object, R>(
  build: (param: ParamOf<V>) => RawBuilder<R>,
): (reader: Reader, values: V) => Promise<R[]> {
  const compile = compileValues(build)
  return async (reader, values) => (await reader.executeQuery<R>(compile(reader, values))).rows
}

/** Returns a function that compiles the statement at its first call, and then only replaces the values. */
export function compileValues<V extends object, R>(
  build: (param: ParamOf<V>) => RawBuilder<R>,
): (reader: Reader, values: V) => CompiledQuery<R> {
  let compiled: CompiledQuery<R> | null = null
  return (reader, values) => {
    compiled ??= build((name) => new Param((from: V) => from[name])).compile(reader)
    const parameters = compiled.parameters.map((value) => (value instanceof Param ? value.valueOf(values) : value))
    return { ...compiled, parameters }
  }
}
