import { type TSchema, Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { named } from '../schemas.ts'
import { publishSchema } from './publish-schema.ts'

const publish = (schema: TSchema) => publishSchema(schema, new Map())

describe('a published schema', () => {
  it('is a reference where it has a name, wherever it stands', () => {
    const Thing = named('Thing', Type.Object({ id: Type.String() }))
    const schemas = new Map()
    const holder = Type.Object({
      one: Type.Optional(Thing),
      many: Type.Array(Thing),
      any: Type.Record(Type.String(), Thing),
    })
    const ref = { $ref: '#/components/schemas/Thing' }
    expect(publishSchema(holder, schemas)).toEqual({
      type: 'object',
      required: ['many', 'any'],
      properties: {
        one: ref,
        many: { type: 'array', items: ref },
        any: { type: 'object', additionalProperties: ref },
      },
    })
    expect([...schemas]).toEqual([
      ['Thing', { type: 'object', required: ['id'], properties: { id: { type: 'string' } } }],
    ])
  })

  it('has a name that no different one has', () => {
    const schemas = new Map()
    publishSchema(named('Thing', Type.Object({ id: Type.String() })), schemas)
    expect(() => publishSchema(named('Thing', Type.Object({ id: Type.String() })), schemas)).not.toThrow()
    expect(() => publishSchema(named('Thing', Type.String()), schemas)).toThrow(
      'Two different schemas have the name Thing',
    )
    expect(() => named('Other', named('Thing', Type.String()))).toThrow("Thing can't be named Other too")
  })

  it('has null as a second type', () => {
    const orNull = (schema: TSchema) => publish(Type.Union([schema, Type.Null()], { description: 'why' }))
    expect(orNull(Type.String({ maxLength: 3 }))).toEqual({
      type: ['string', 'null'],
      maxLength: 3,
      description: 'why',
    })
    expect(orNull(Type.Enum(['a', 'b']))).toEqual({
      type: ['string', 'null'],
      enum: ['a', 'b', null],
      description: 'why',
    })
    expect(orNull(named('N', Type.String()))).toEqual({
      oneOf: [{ $ref: '#/components/schemas/N' }, { type: 'null' }],
      description: 'why',
    })
  })

  it('is an enumeration of literals, with their type', () => {
    expect(publish(Type.Union([Type.Literal('a'), Type.Literal('b')], { default: 'b' }))).toEqual({
      type: 'string',
      enum: ['a', 'b'],
      default: 'b',
    })
    expect(publish(Type.Enum([1, 2]))).toEqual({ type: 'number', enum: [1, 2] })
  })

  it('is a pattern where values differ in case alone, of which generators would make one name', () => {
    expect(publish(Type.Enum(['any', 'true', 'True'], { default: 'any' }))).toEqual({
      type: 'string',
      pattern: '^(any|true|True)$',
      default: 'any',
    })
  })

  it('does not change other unions', () => {
    expect(publish(Type.Union([Type.String(), Type.Integer()]))).toEqual({
      anyOf: [{ type: 'string' }, { type: 'integer' }],
    })
  })
})
