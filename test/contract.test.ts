import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { compare } from '../scripts/contract/compare.ts'
import type { Document } from '../scripts/contract/openapi.ts'

/** The groups of operations that the project declares complete, by their tags. */
const COMPLETE = new Set([
  'Orgs',
  'Orgs Sites',
  'Sites',
  'Orgs Sitegroups',
  'Orgs Setting',
  'Sites Setting',
  'Orgs Logs',
  'Self Audit Logs',
  'Orgs Inventory',
  'Orgs Devices',
  'Sites Devices',
  'Orgs MxEdges',
  'Sites MxEdges',
  'Orgs MxClusters',
  'Orgs Stats - Devices',
  'Sites Stats - Devices',
  'Orgs Stats - MxEdges',
  'Sites Stats - MxEdges',
  'Sites Maps',
  'Orgs Maps',
  'Installer',
  'Constants Definitions',
  'Constants Events',
  'Constants Models',
])

const pathOf = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))
/** The contract is not part of the project; it may be stored beside the checkout. */
const contractFile = pathOf('../../shared/contract/contract.openapi.json')

const readDocument = (file: string): Document => JSON.parse(readFileSync(file, 'utf8'))

it.skipIf(!existsSync(contractFile))(
  'documents a reason for every operation that offers less than the published contract',
  () => {
    const reasons = readFileSync(pathOf('../docs/spec-map.md'), 'utf8')
    const less = compare(readDocument(contractFile), readDocument(pathOf('../docs/openapi.json'))).filter(
      ({ verdict, tags }) => (verdict === 'narrower' || verdict === 'missing') && tags.some((tag) => COMPLETE.has(tag)),
    )
    expect(less.length).toBeGreaterThan(0)
    const unexplained = less.filter(({ id }) => !reasons.includes(`\`${id}\``))
    expect(unexplained.map(({ verdict, id }) => `${verdict}: ${id}`)).toEqual([])
  },
)
