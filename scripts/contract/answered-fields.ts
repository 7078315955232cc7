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

/** True if the enumerated values of `sort` or `last_by` name every field of the rows, and `sort` in both directions. */
export function takesAll(operation: Operation, parameter: 'sort' | 'last_by'): boolean {
  const taken = new Set(listOf(operation.query.get(parameter)?.['enum']))
  const fields = answeredFields(operation)
  const names = parameter === 'sort' ? fields.flatMap((name) => [name, `-${name}`]) : fields
  return fields.length > 0 && names.every((name) => taken.has(name))
}

function isScalar(schema: Schema): boolean {
  const types = [schema['type']].flat().map(String)
  return types.some((type) => scalars.has(type)) || Array.isArray(schema['enum'])
}

function propertiesOf({ properties }: Schema): Schema {
  return isSchema(properties) ? properties : {}
}
