import { type Api, allPagesOf, answerOf, pageOf } from '../api/client.ts'
import { type Overview, kinds } from './overview.ts'
import { noteOf } from './note-of.ts'
import { applianceStates, isWaiting as isApplianceWaiting, orderTargets } from './appliance.ts'
import { isWaiting } from './exclusion.ts'
import { type Words, orderByState, reasonOf, targetStates, targetText } from './upgrade.ts'

/** A device, a router or an appliance of an upgrade at a site. */
export interface SiteTarget {
  /** Its MAC address; the id of an appliance. */
  readonly id: string
  readonly name: string
  readonly state: Words
  readonly reason: string | undefined
  /** True until it installs or has ended in the upgrade. */
  readonly isWaiting: boolean
}

/** The most that one page of a list has. */
const PAGE = 1000

/** Lists what an upgrade does at a site, failures first. */
export async function listSiteTargets(
  api: Api,
  siteId: string,
  upgrade: Pick<Overview, 'id' | 'kind'>,
): Promise<readonly SiteTarget[]> {
  const { kind } = upgrade
  const path = { site_id: siteId, upgrade_id: upgrade.id }
  const paramsOf = (page: number) => ({ path, query: { limit: PAGE, page } })
  if (kind === 'mxedge') {
    const targets = await allPagesOf((page) =>
      pageOf(api.GET('/api/v1/sites/{site_id}/mxedges/upgrade/{upgrade_id}/targets', { params: paramsOf(page) })),
    )
    return orderTargets(targets).map((target) => {
      const { mxedge_id: id, name, status, reason } = target
      return { id, name, state: applianceStates[status], reason, isWaiting: isApplianceWaiting(target) }
    })
  }
  const targets = await allPagesOf((page) =>
    pageOf(api.GET(`/api/v1/sites/{site_id}${kinds[kind].path}/{upgrade_id}/targets`, { params: paramsOf(page) })),
  )
  return orderByState(targets).map((target) => {
    const { mac, status } = target
    const reason = reasonOf(target)
    return {
      id: mac,
      name: targetText(target),
      state: targetStates[status],
      reason,
      isWaiting: isWaiting(target),
    }
  })
}

interface Excluded {
  readonly upgrade: Pick<Overview, 'id' | 'kind'>
  /** That of the target. */
  readonly id: string
  readonly note: string
}

export function excludeAtSite(api: Api, siteId: string, { upgrade: { id: upgradeId, kind }, id, note }: Excluded) {
  const params = { path: { site_id: siteId, upgrade_id: upgradeId } }
  return kind === 'mxedge'
    ? answerOf(
        api.POST('/api/v1/sites/{site_id}/mxedges/upgrade/{upgrade_id}/exclude', {
          params,
          body: { mxedge_ids: [id], ...noteOf(note) },
        }),
      )
    : answerOf(
        api.POST(`/api/v1/sites/{site_id}${kinds[kind].path}/{upgrade_id}/exclude`, {
          params,
          body: { macs: [id], ...noteOf(note) },
        }),
      )
}
