import type { FastifySchemaCompiler } from 'fastify'
import type { Static, TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { Value } from 'typebox/value'
import { type AppError, invalidField } from '../platform/errors.ts'
import { hasLongIntegers, roundIntegers } from '../platform/json/exact-json.ts'
import { assertText } from './bodies/body.ts'
import { UNKNOWN_FIELD } from './bodies/closed-bodies.ts'
import { UnparsedBody } from './bodies/unparsed-body.ts'
import { FILTER } from './lists/filters.ts'
import { isObject } from '../platform/json/is-object.ts'
import { formRefusal } from './texts.ts'
import { NoSuchPath, isUuidSchema } from './unserved.ts'

/**
 * Bodies are checked unchanged: no conversion, no defaults, unknown keys stay. Query and path values are text, so they
 * are first converted to the types of their schema. A query has only parameters that its schema knows, unless the
 * schema allows additional properties. A schema is compiled when it is first used: hundreds of operations would take
 * half of the start.
 */
export const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema: declared, httpPart }) => {
  const schema = httpPart === 'querystring' ? withPlainFilters(declared) : declared
  let compiled: Checking | undefined
  return (data: unknown) => {
    // The thread that parses it checks it.
    if (data instanceof UnparsedBody) return { value: data }
    try {
      if (httpPart === 'querystring') assertKnown(schema, data)
      const value = httpPart === 'body' ? data : convertQuery(schema, data)
      compiled ??= Compile(schema)
      const errors = findErrors(compiled, value)
      if (errors === null) return { value }
      return {
        error: httpPart === 'params' && isNoId(schema, errors) ? new NoSuchPath() : firstError(schema, errors, value),
      }
    } catch (error) {
      return { error: error instanceof Error ? error : new Error(String(error)) }
    }
  }
}

/** Parameters of filters stay as they were sent: the filter checks them. */
function withPlainFilters(schema: TSchema): TSchema {
  const properties: unknown = Reflect.get(schema, 'properties')
  if (!isObject(properties)) return schema
  const plain = Object.entries(properties).map(([name, property]) => [
    name,
    isObject(property) && FILTER in property ? { type: 'string' } : property,
  ])
  return { ...schema, properties: Object.fromEntries(plain) }
}

/** @throws AppError invalid naming a parameter that the schema does not have, or that is given twice. */
function assertKnown(schema: TSchema, data: unknown): void {
  const properties: unknown = Reflect.get(schema, 'properties')
  if (Reflect.get(schema, 'additionalProperties') === true) return
  for (const [name, value] of Object.entries(data ?? {})) {
    if (!isObject(properties) || !Object.hasOwn(properties, name))
      throw invalidField(name.slice(0, 100), 'is no parameter of this operation')
    if (Array.isArray(value)) throw invalidField(name.slice(0, 100), 'must be given once')
  }
}

interface Checking {
  Check(value: unknown): boolean
  Errors(value: unknown): readonly FoundError[]
}

/**
 * An integer that is stored by its digits is an object, so both it and its rounded number must match: both do only if
 * the schema accepts any value.
 * @returns Null if the value matches.
 */
function findErrors(checking: Checking, value: unknown): readonly FoundError[] | null {
  const isGood = checking.Check(value)
  if (!hasLongIntegers(value)) return isGood ? null : checking.Errors(value)
  const rounded = roundIntegers(value)
  if (!checking.Check(rounded)) return checking.Errors(rounded)
  // The only fault is the length of an integer.
  return isGood ? null : checking.Errors(value).map((error) => Object.assign(error, { message: WITHIN_SAFE_INTEGERS }))
}

const WITHIN_SAFE_INTEGERS = `must be a number from ${Number.MIN_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}`

/**
 * Converts query and path values to the types of their schema. Clients also write booleans as `True` and send unused
 * filters as empty texts. A value that can't be converted stays a text, and fails the check.
 */
function convertQuery(schema: TSchema, data: unknown): Record<string, unknown> {
  const types: unknown = Reflect.get(schema, 'properties')
  const converted: Record<string, unknown> = Object.create(null)
  for (const [name, value] of Object.entries(data ?? {})) {
    for (const text of Array.isArray(value) ? value : [value]) if (typeof text === 'string') assertText(text, name)
    if (value === '') continue
    const type: unknown = isObject(types) && isObject(types[name]) ? types[name]['type'] : undefined
    if (type === 'integer' && typeof value === 'string' && /^-?\d{16,}$/.test(value))
      throw invalidField(name, `must be a number of at most ${MAX_DIGITS} digits`)
    converted[name] = typeof value === 'string' ? convertText(type, value) : value
  }
  return converted
}

/** All such numbers are exact. */
const MAX_DIGITS = 15

function convertText(type: unknown, text: string): unknown {
  if ((type === 'integer' || type === 'number') && /^-?\d{1,15}(\.\d{1,15})?$/.test(text)) return Number(text)
  if (type === 'boolean' && /^true$/i.test(text)) return true
  if (type === 'boolean' && /^false$/i.test(text)) return false
  return text
}

/** True if a value is refused by a UUID schema: a literal segment of a path that is not served, or a wrong id. */
function isNoId(schema: TSchema, errors: readonly FoundError[]): boolean {
  const properties: unknown = Reflect.get(schema, 'properties')
  return errors.some(
    ({ instancePath }) => isObject(properties) && isUuidSchema(properties[instancePath.split('/')[1] ?? '']),
  )
}

interface FoundError {
  readonly keyword: string
  readonly instancePath: string
  readonly message: string
  readonly params: object
}

/** True for a field of an object that has only those that its schema declares; see closeBody(). */
function isUnknownField({ keyword }: FoundError): boolean {
  return keyword === 'boolean'
}

function firstError(schema: TSchema, errors: readonly FoundError[], value: unknown): AppError {
  // Among several alternatives, the one with other fields is the relevant one.
  const error = errors.find(isUnknownField) ?? errors[0]
  if (error === undefined) return invalidField('body', 'does not match its schema')
  const missing = listIn(error.params, 'requiredProperties')
  const allowed = listIn(error.params, 'allowedValues')
  const path = [...error.instancePath.split('/').filter((part) => part !== ''), ...missing.slice(0, 1)]
  if (isUnknownField(error)) return invalidField(path.join('.').slice(0, 200), unknownReason(schema, path))
  const form = formRefusal(Reflect.get(error.params, 'pattern'))
  if (form !== undefined) return invalidField(path.join('.'), `${quote(valueAt(value, path))} ${form}`)
  return invalidField(path.join('.') || 'body', reason(error.message, missing, allowed))
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce((holder, name) => Reflect.get(Object(holder), name), value)
}

/** Long texts are cut. */
function quote(value: unknown): string {
  return JSON.stringify(typeof value === 'string' ? value.slice(0, 50) : value)
}

const bounds: Readonly<Record<string, string>> = {
  '<=': 'at most',
  '>=': 'at least',
  '<': 'less than',
  '>': 'more than',
}

function reason(message: string, missing: readonly string[], allowed: readonly string[]): string {
  const bound = /^must be (<=|>=|<|>) (\S+)$/.exec(message)
  if (bound !== null) return `must be ${bounds[bound[1] ?? '']} ${bound[2]}`
  if (missing.length > 0) return 'is required'
  return allowed.length > 0 ? `must be one of ${allowed.filter(Boolean).join(', ')}` : message
}

/** A field after a minus is one that a client unsets. */
function unknownReason(schema: TSchema, [field = '', ...inner]: readonly string[]): string {
  const properties: unknown = Reflect.get(schema, 'properties')
  const isField = isObject(properties) && field.startsWith('-') && Object.hasOwn(properties, field.slice(1))
  return isField && inner.length === 0 ? "can't be unset" : UNKNOWN_FIELD
}

function listIn(params: object, name: string): string[] {
  const list: unknown = Reflect.get(params, name)
  return Array.isArray(list) ? list.map(String) : []
}

/** Checks a value that did not come through a route's schema, such as a multipart part. */
export function check<T extends TSchema>(schema: T, value: unknown): Static<T> {
  const errors = findErrors(
    { Check: (given) => Value.Check(schema, given), Errors: (given) => Value.Errors(schema, given) },
    value,
  )
  if (errors !== null) throw firstError(schema, errors, value)
  return value as Static<T>
}
