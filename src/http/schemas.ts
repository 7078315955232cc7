import { type TProperties, type TSchema, Type } from 'typebox'

/** Keyword under which a schema carries the name that the document publishes it by. */
export const NAME = 'x-name'

/**
 * Names a schema: the document has it once, among its components, and generated clients have a type of that name. A
 * query parameter with a name is a shared parameter.
 *
 * @param name A noun in PascalCase, such as `Site`; bodies that create or change one are `SiteCreate` and `SiteUpdate`.
 *   No two different schemas may share it.
 */
export function named<T extends TSchema>(name: string, schema: T): T {
  if (NAME in schema) throw new Error(`${String(Reflect.get(schema, NAME))} can't be named ${name} too`)
  return Object.assign(schema, { [NAME]: name })
}

/** The name of a schema, if it has one. */
export function nameOf(schema: TSchema): string | undefined {
  const name: unknown = Reflect.get(schema, NAME)
  return typeof name === 'string' ? name : undefined
}

/** Members of a body that clients have read: an update compares them, and a new record has its own. */
export function asTheyAre(fields: readonly string[]): TProperties {
  return Object.fromEntries(
    fields.map((name) => [name, Type.Optional(Type.Unknown({ readOnly: true, description: 'as it is' }))]),
  )
}

/** Pieces of schemas that every noun's wire.ts uses. */
export const Uuid = Type.String({ format: 'uuid' })

/** Stands for "none" where clients require an id. */
export const NO_ID = '00000000-0000-0000-0000-000000000000'

/** Operations that answer nothing answer `{}`: clients parse every body. */
export const Empty = named('Empty', Type.Object({}))

/** Epoch seconds with fraction. */
export const Timestamp = Type.Number()

/** Bytes of a file: a part of a form, the body of a request, or of an answer. */
export const Binary = Type.Unsafe<unknown>({ type: 'string', format: 'binary' })

const Detail = Type.String({ description: 'the reason, for people' })

/** The answer to a refused request. */
export const ErrorReply = named(
  'Error',
  Type.Object(
    {
      detail: Detail,
      reason: Type.Optional(Type.String({ description: 'the cause, where `detail` names a field' })),
      id: Type.Optional(Type.String({ description: 'of the object that was not found' })),
    },
    { additionalProperties: true },
  ),
)

/** The answer of a few operations to a refused request: the plain reason, unless the request is malformed. */
export const TextErrorReply = named('TextError', Type.Union([Type.String(), ErrorReply]))

/** The answer to a refused request that names many objects: all of them are refused, each with its reason. */
export const ListErrorReply = named(
  'ListError',
  Type.Object(
    {
      detail: Detail,
      error: Type.Optional(
        Type.Array(Type.String(), { description: 'the refused objects, as the request names them' }),
      ),
      reason: Type.Optional(
        Type.Array(Type.String(), {
          description: 'parallel to `error`; a single one where it is the request itself that is not understood',
        }),
      ),
    },
    { additionalProperties: true },
  ),
)
