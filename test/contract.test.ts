import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { absences, laterAbsences } from '../scripts/contract/absences.ts'
import { compare } from '../scripts/contract/compare.ts'
import { corrections } from '../scripts/contract/corrections.ts'
import { countShortfalls, outdated, outdatedCorrections, unexplained } from '../scripts/contract/differences.ts'
import type { Document } from '../scripts/contract/openapi.ts'
import { furtherRefusals } from '../scripts/contract/further-refusals.ts'
import { makeRefusalsPage } from '../scripts/contract/refusals-page.ts'
import { hasContract, readContract } from './support/contract/contract.ts'

const pathOf = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

const findings = (corrected = corrections) => {
  const ours: Document = JSON.parse(readFileSync(pathOf('../docs/openapi.json'), 'utf8'))
  return compare(readContract(), ours, corrected)
}

it.skipIf(!hasContract)('gives a reason for everything that the published contract has and the server has not', () => {
  expect(unexplained(findings())).toEqual([])
})

it.skipIf(!hasContract)(
  'has few operations that are absent or narrower, besides fields of what nothing creates',
  () => {
    const operations = findings().filter(({ isTopic }) => !isTopic)
    const absent = operations.filter(({ verdict }) => verdict === 'missing').length
    const { takingLess, answeringOtherwise, lackingFields } = countShortfalls(operations)
    expect(answeringOtherwise).toBe(0)
    expect(absent + takingLess + lackingFields).toBeLessThanOrEqual(17)
  },
)

it.skipIf(!hasContract)('gives no reason for a difference that does not exist', () => {
  expect(outdated(findings())).toEqual([])
  expect(outdatedCorrections(findings([]), corrections)).toEqual([])
})

it('names the words of every refusal as the code has them', () => {
  const gone = furtherRefusals.filter(({ file, words }) => !readFileSync(pathOf(`../${file}`), 'utf8').includes(words))
  expect(gone).toEqual([])
})

it('lists as absent only operations that are not served', () => {
  const served = readFileSync(pathOf('../docs/openapi.json'), 'utf8')
  const absent = [...absences, ...laterAbsences].flatMap(({ operations }) => operations)
  expect(absent.filter((id) => served.includes(`"operationId": "${id}"`))).toEqual([])
  expect(served).toContain('"operationId": "getOrg"')
})

it('has a page of all refusals, made from the same tables', async () => {
  await expect(makeRefusalsPage()).toMatchFileSnapshot(pathOf('../docs/refusals.md'))
})
