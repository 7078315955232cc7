import type { KyselyPlugin } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import { deviceIdOf } from '../../../src/devices/device.ts'
import { lockClaimedStatuses } from '../../../src/devices/sessions/store.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import { type GatewayHarness, createGatewayHarness, newMac } from '../harness.ts'

let harness: GatewayHarness
beforeAll(async () => {
  harness = await createGatewayHarness()
})

/** Runs `work` after the first statement has been answered. */
function afterFirst(work: () => Promise<unknown>): KyselyPlugin {
  let isFirst = true
  return {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      if (!isFirst) return result
      isFirst = false
      await work()
      return result
    },
  }
}

test('a status that another transaction inserts at the same time is found, beside known and unclaimed devices', async () => {
  const [known, claimed] = [newMac(), newMac()]
  await harness.claim(known)
  const lock = (macs: readonly string[], meanwhile: () => Promise<unknown>) =>
    inTx(harness.ctx, (tx) => lockClaimedStatuses(tx.withPlugin(afterFirst(meanwhile)), macs.map(deviceIdOf)))
  const none = () => Promise.resolve()
  expect(await lock([newMac()], none)).toEqual([])
  const insert = async () => {
    await harness.claim(claimed)
    expect(await lock([claimed], none)).toHaveLength(1)
  }
  const found = await lock([known, claimed, newMac()], insert)
  expect(found.map(({ mac }) => mac).toSorted()).toEqual([known, claimed].toSorted())
})
