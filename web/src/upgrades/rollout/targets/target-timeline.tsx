import { Modal } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useServer } from '../../../api/client.ts'
import { counted } from '../../../display/texts/counted.ts'
import { useFocusReturn } from '../../../display/forms/focus.ts'
import { QueryView } from '../../../display/layout/query-view.tsx'
import { SiteTime } from '../../../display/times/time.tsx'
import { causeText } from '../../../display/texts/cause-text.ts'
import { type UpgradePlace, getTarget } from '../../calls.ts'
import { UpgradeText } from '../../upgrade-text.tsx'
import { stepText } from './step-text.ts'

interface TargetTimelineProps {
  readonly place: UpgradePlace
  readonly mac: string
  readonly title: string
  readonly zone: string | undefined
  /** A link to the page of the device. */
  readonly device: ReactNode
  readonly onClose: () => void
}

const POLL_MS = 2000

/** The history of one device: its states, its commands and its events, by time. */
export function TargetTimeline({ place, mac, title, zone, device, onClose }: TargetTimelineProps) {
  const { api } = useServer()
  useFocusReturn()
  const query = useQuery({
    queryKey: ['upgrade target', place.upgradeId, mac],
    queryFn: () => getTarget(api, place, mac),
    refetchInterval: POLL_MS,
  })
  return (
    <Modal opened onClose={onClose} title={title} lockScroll={false} size="lg">
      <QueryView query={query} rows={6}>
        {({ timeline, model, from_version: from, version, attempts }) => (
          <>
            <p className="muted">
              {[model, from !== undefined && `${from} → ${version}`, counted(attempts, 'command')]
                .filter((part) => typeof part === 'string')
                .join(' · ')}{' '}
              · {device}
            </p>
            <ol className="log">
              {timeline.map((step) => (
                <li key={`${step.timestamp} ${step.kind} ${step.what}`}>
                  <div className="log-head">
                    <span className="log-what" data-kind={step.kind}>
                      {stepText(step)}
                    </span>
                    <SiteTime at={step.timestamp} zone={zone} />
                  </div>
                  {step.cause !== '' && (
                    <p>
                      <UpgradeText orgId={place.orgId} text={causeText(step.cause, zone)} />
                    </p>
                  )}
                </li>
              ))}
            </ol>
          </>
        )}
      </QueryView>
    </Modal>
  )
}
