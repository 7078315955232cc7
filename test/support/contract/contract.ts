import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Document } from '../../../scripts/contract/openapi.ts'

/** The folder with the published contract. It is not part of the project; it may be stored beside or above the checkout. */
const folder = findFolder(join(import.meta.dirname, '../..'))

function findFolder(from: string): string | null {
  const above = dirname(from)
  if (above === from) return null
  const candidate = join(above, 'shared/contract')
  return existsSync(join(candidate, 'contract.openapi.json')) ? candidate : findFolder(above)
}

/** Without it, tests that compare with it are skipped. */
export const hasContract = folder !== null

/** @throws Error without the folder. */
export function readContract(): Document {
  return readJson('contract.openapi.json') as Document
}

/** Properties that a later release has added to schemas of the contract, as `name: type`, by schema. */
export function readAddedProperties(): Readonly<Record<string, Readonly<Record<string, string>>>> {
  const { schema_drift: changes } = readJson('addendum.json') as {
    readonly schema_drift: Readonly<Record<string, { readonly added?: Readonly<Record<string, string>> }>>
  }
  return Object.fromEntries(Object.entries(changes).map(([schema, { added = {} }]) => [schema, added]))
}

/** Schemas of bodies that only a later release has, by the operation that takes them. */
export function readAddedBodies(): Readonly<Record<string, unknown>> {
  const { operations } = readJson('addendum.json') as {
    readonly operations: readonly { readonly operationId: string; readonly request?: unknown }[]
  }
  return Object.fromEntries(operations.map(({ operationId, request }) => [operationId, request]))
}

function readJson(name: string): unknown {
  if (folder === null) throw new Error('There is no folder with the contract')
  return JSON.parse(readFileSync(join(folder, name), 'utf8'))
}
