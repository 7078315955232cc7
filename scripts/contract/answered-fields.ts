import { type Operation, type Schema, isSchema, listOf, resolve } from './openapi.ts'

const scalars = new Set(['boolean', 'integer', 'number', 'string'])

/** Lists the fields of the rows of a search that have one value each: those that a client may sort by. */
export function answeredFields({ reply, document }: Operation): string[] {
  const { results } = propertiesOf(resolve(document, reply))
  const item = resolve(document, resolve(document, results)['items'])
  return Object.entries(propertiesOf(item)).flatMap(([name, schema]) =>
    isScalar(resolve(document, schema)) ? [name] : [],
  )
}

/** Whether the enumerated sorts of an operation take every field of its rows, in both directions. */
export function sortsByAll(operation: Operation): boolean {
  const sorts = new Set(listOf(operation.query.get('sort')?.['enum']))
  const fields = answeredFields(operation)
  return fields.length > 0 && fields.every((name) => sorts.has(name) && sorts.has(`-${name}`))
}

function isScalar(schema: Schema): boolean {
  const types = [schema['type']].flat().map(String)
  return types.some((type) => scalars.has(type)) || Array.isArray(schema['enum'])
}

function propertiesOf({ properties }: Schema): Schema {
  return isSchema(properties) ? properties : {}
}
