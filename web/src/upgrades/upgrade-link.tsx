import { Link } from '@tanstack/react-router'
import { useRowLabel } from '../display/layout/row.tsx'
import { type Overview, titleOf } from './overview.ts'

/** Leads to the page of an upgrade, from a row that names it: many upgrades have the same goal. */
export function UpgradeLink({ orgId, upgrade }: { readonly orgId: string; readonly upgrade: Overview }) {
  return (
    <Link {...useRowLabel()} to="/orgs/$orgId/upgrades/$upgradeId" params={{ orgId, upgradeId: upgrade.id }}>
      {titleOf(upgrade)}
    </Link>
  )
}
