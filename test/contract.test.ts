import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { compare } from '../scripts/contract/compare.ts'
import { outdated, unexplained } from '../scripts/contract/differences.ts'
import type { Document } from '../scripts/contract/openapi.ts'
import { makeRefusalsPage } from '../scripts/contract/refusals-page.ts'
import { hasContract, readContract } from './support/contract.ts'

const pathOf = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

const findings = () => {
  const ours: Document = JSON.parse(readFileSync(pathOf('../docs/openapi.json'), 'utf8'))
  return compare(readContract(), ours)
}

it.skipIf(!hasContract)('gives a reason for everything that the published contract has and the server has not', () => {
  expect(unexplained(findings())).toEqual([])
})

it.skipIf(!hasContract)('gives no reason for a difference that does not exist', () => {
  expect(outdated(findings())).toEqual([])
})

it('has a page of all refusals, made from the same tables', async () => {
  await expect(makeRefusalsPage()).toMatchFileSnapshot(pathOf('../docs/refusals.md'))
})
