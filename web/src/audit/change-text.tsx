import { Link, linkOptions } from '@tanstack/react-router'
import { useMay } from '../accounts/self.ts'
import { useSites } from '../orgs/sites.ts'
import { type LogEntry, type Subject, subjectOf } from './subject.ts'
import { localText } from '../display/times/local-text.ts'
import { useTextZone } from '../display/times/text-zone.ts'

/** The message of an entry; it leads to the page of what the change is about. */
export function ChangeText({ orgId, entry }: { readonly orgId: string; readonly entry: LogEntry }) {
  const sites = useSites(orgId).data
  const mayReadOrg = useMay('read', { orgId })
  const subject = subjectOf(entry, (siteId) => sites?.has(siteId) === true)
  const text = localText(entry.message, useTextZone())
  // Roles in single sites do not reach the pages of upgrades.
  if (subject === null || (subject.kind === 'upgrade' && !mayReadOrg)) return text
  return <Link {...pageOf(orgId, subject)}>{text}</Link>
}

function pageOf(orgId: string, subject: Subject) {
  switch (subject.kind) {
    case 'upgrade':
      return linkOptions({ to: '/orgs/$orgId/upgrades/$upgradeId', params: { orgId, upgradeId: subject.id } })
    case 'webhook':
      return linkOptions({
        to: '/orgs/$orgId/webhooks/$webhookId',
        params: { orgId, webhookId: subject.id },
        search: subject.siteId === null ? {} : { site: subject.siteId },
      })
    case 'device':
      return linkOptions({
        to: '/orgs/$orgId/sites/$siteId/devices/$mac',
        params: { orgId, siteId: subject.siteId, mac: subject.mac },
      })
    case 'appliance':
      return linkOptions({ to: '/orgs/$orgId/edges/$mxedgeId', params: { orgId, mxedgeId: subject.id } })
    case 'map':
      return linkOptions({
        to: '/orgs/$orgId/sites/$siteId/maps/$mapId',
        params: { orgId, siteId: subject.siteId, mapId: subject.id },
      })
    case 'firmware':
      return linkOptions({ to: '/orgs/$orgId/firmware', params: { orgId } })
    case 'site':
      return linkOptions({ to: '/orgs/$orgId/sites/$siteId', params: { orgId, siteId: subject.siteId } })
  }
}
