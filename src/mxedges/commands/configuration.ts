import { createHash } from 'node:crypto'
import type { Document } from '../../platform/json/document.ts'

/** Returns the configuration for the agent: everything that a person has configured on its appliance. */
export function configurationOf({ name, model, doc }: { name: string; model: string; doc: Document }): Document {
  return { ...doc, name, model }
}

/** Returns the SHA-256 of a configuration, in hex; the order of members does not matter. */
export function configurationSha256(configuration: Document): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted(configuration)))
    .digest('hex')
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => [name, sorted(member)]),
  )
}
