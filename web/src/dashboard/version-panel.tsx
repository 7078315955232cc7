import { Link } from '@tanstack/react-router'
import { EmptyState } from '../display/layout/notices.tsx'
import { Panel } from '../display/layout/panel.tsx'
import { QueryView } from '../display/layout/query-view.tsx'
import { type DashboardPlace, sumOf, useCounts } from './use-counts.ts'

const SHOWN = 8

/** The versions that devices run, the most frequent first. */
export function VersionPanel({ orgId, siteId }: DashboardPlace) {
  const query = useCounts(orgId, 'version', { siteId })
  return (
    <Panel title="Firmware">
      <QueryView query={query}>
        {(counts) => {
          const total = sumOf(counts)
          const versions = [...counts].toSorted(([, one], [, other]) => other - one)
          if (total === 0) return <EmptyState title="No device has reported a version" />
          return (
            <ul className="bars">
              {versions.slice(0, SHOWN).map(([version, count]) => (
                <li key={version}>
                  {version === '' ? (
                    <span>never connected</span>
                  ) : (
                    <Link
                      to="/orgs/$orgId/devices"
                      params={{ orgId }}
                      search={{ version, ...(siteId !== undefined && { site: siteId }) }}
                    >
                      {version}
                    </Link>
                  )}
                  <span className="bar" aria-hidden="true">
                    <span style={{ width: `${(100 * count) / total}%` }} />
                  </span>
                  <span className="number">{count}</span>
                </li>
              ))}
              {versions.length > SHOWN && <li className="muted">and {versions.length - SHOWN} more versions</li>}
            </ul>
          )
        }}
      </QueryView>
    </Panel>
  )
}
