import { useQuery } from '@tanstack/react-query'
import { answerOf, useServer } from '../../api/client.ts'
import { localText } from '../../display/times/local-text.ts'
import { SiteTimeOfDay } from '../../display/times/time.tsx'
import { OVERVIEW_MS } from '../use-counts.ts'

interface AutoUpgradeNoteProps {
  readonly siteId: string
  readonly zone: string
}

/** When the access points of the site are upgraded by its settings, and why that did not happen the last time. */
export function AutoUpgradeNote({ siteId, zone }: AutoUpgradeNoteProps) {
  const { api } = useServer()
  const { data } = useQuery({
    queryKey: ['auto upgrade', siteId],
    queryFn: () => answerOf(api.GET('/api/v1/sites/{site_id}/auto_upgrade', { params: { path: { site_id: siteId } } })),
    refetchInterval: OVERVIEW_MS,
  })
  if (data?.next_time === undefined) return null
  const { next_time: next, last_time: last, reason } = data
  return (
    <span>
      Next automatic upgrade: <SiteTimeOfDay at={next} zone={zone} />
      {last !== undefined && reason !== undefined && (
        <>
          ; <SiteTimeOfDay at={last} zone={zone} />: {localText(reason, zone)}
        </>
      )}
    </span>
  )
}
