import { Link } from '@tanstack/react-router'
import { useMay } from '../accounts/self.ts'
import { useSites } from '../orgs/sites.ts'
import { type LogEntry, subjectOf } from './subject.ts'

/** The message of an entry; it leads to the page of what the change is about. */
export function ChangeText({ orgId, entry }: { readonly orgId: string; readonly entry: LogEntry }) {
  const sites = useSites(orgId).data
  const mayReadOrg = useMay('read', { orgId })
  const subject = subjectOf(entry, (siteId) => sites?.has(siteId) === true)
  if (subject === null) return entry.message
  switch (subject.kind) {
    case 'upgrade':
      // Roles in single sites do not reach the pages of upgrades.
      if (!mayReadOrg) return entry.message
      return (
        <Link to="/orgs/$orgId/upgrades/$upgradeId" params={{ orgId, upgradeId: subject.id }}>
          {entry.message}
        </Link>
      )
    case 'webhook':
      return (
        <Link
          to="/orgs/$orgId/webhooks/$webhookId"
          params={{ orgId, webhookId: subject.id }}
          search={subject.siteId === null ? {} : { site: subject.siteId }}
        >
          {entry.message}
        </Link>
      )
    case 'device':
      return (
        <Link to="/orgs/$orgId/sites/$siteId/devices/$mac" params={{ orgId, siteId: subject.siteId, mac: subject.mac }}>
          {entry.message}
        </Link>
      )
    case 'appliance':
      return (
        <Link to="/orgs/$orgId/edges/$mxedgeId" params={{ orgId, mxedgeId: subject.id }}>
          {entry.message}
        </Link>
      )
    case 'map':
      return (
        <Link to="/orgs/$orgId/sites/$siteId/maps/$mapId" params={{ orgId, siteId: subject.siteId, mapId: subject.id }}>
          {entry.message}
        </Link>
      )
    case 'firmware':
      return (
        <Link to="/orgs/$orgId/firmware" params={{ orgId }}>
          {entry.message}
        </Link>
      )
    case 'site':
      return (
        <Link to="/orgs/$orgId/sites/$siteId" params={{ orgId, siteId: subject.siteId }}>
          {entry.message}
        </Link>
      )
  }
}
