import { randomUUID } from 'node:crypto'
import { type Attack, inLanes } from './attack.ts'
import { callAsTenant, strikeAsTenant } from './call.ts'

const LANES = 100
const STANDING = 50

const names: Attack = {
  what: `creates and pings webhooks whose names no name server answers, beside ${STANDING} of them on audits`,
  async run(run) {
    const { world, tenant } = run
    const path = `/orgs/${tenant.orgId}/webhooks`
    const ids = new Set<string>()
    const create = async (): Promise<string | null> => {
      const url = `http://${randomUUID()}.${world.silentDomain}/`
      const answer = await strikeAsTenant(run, {
        method: 'POST',
        path,
        body: JSON.stringify({ url, topics: ['audits'] }),
      })
      if (answer?.status !== 200) return null
      const { id } = JSON.parse(answer.text) as { readonly id: string }
      ids.add(id)
      return id
    }
    await inLanes(LANES, run, async () => {
      const id = await create()
      if (id === null) return
      await strikeAsTenant(run, { method: 'POST', path: `${path}/${id}/ping` })
      if (ids.size <= STANDING) return
      const answer = await strikeAsTenant(run, { method: 'DELETE', path: `${path}/${id}` })
      if (answer?.status === 200) ids.delete(id)
    })
    // An aborted call may have created an object whose id is unknown.
    const left = (await callAsTenant(world, tenant, { method: 'GET', path: `${path}?limit=1000` })) as {
      readonly id: string
    }[]
    for (const { id } of left) await callAsTenant(world, tenant, { method: 'DELETE', path: `${path}/${id}` })
  },
}

/** Waits that tenants cause at name servers. */
export const nameAttacks = { names }
