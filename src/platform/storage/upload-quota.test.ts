import { expect, it } from 'vitest'
import { createUploadQuota } from './upload-quota.ts'

function setUp() {
  const paced: (readonly [string, number])[] = []
  const quota = createUploadQuota({
    field: 'data',
    what: 'files',
    orgMaxBytes: 100,
    totalMaxBytes: 1000,
    getUsage: async () => ({ orgBytes: 100, totalBytes: 100 }),
    disk: {
      getState: async () => ({ freeBytes: 1000, reserveBytes: 0 }),
      expect: () => {},
      assertRoom: async () => {},
    },
    pace: { wait: async (orgId, bytes) => void paced.push([orgId, bytes]) },
  })
  return { quota, paced }
}

it('lets bytes that are not stored exceed the quota, but not the pace', async () => {
  const { quota, paced } = setUp()
  await expect(quota.reserve({ orgId: 'a', declaredBytes: 50 })).rejects.toThrow('the organization may store')
  await quota.pace('a', 50)
  expect(paced).toEqual([['a', 50]])
})
