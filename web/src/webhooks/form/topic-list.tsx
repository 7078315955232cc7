import { useId } from 'react'
import { LoadNote } from '../../display/layout/notices.tsx'
import { failureOf } from '../../display/layout/load-failure.ts'
import { useTopics } from '../use-webhooks.ts'

interface TopicListProps {
  readonly chosen: readonly string[]
  /** Webhooks of sites have no topics that only organizations have. */
  readonly ofSite: boolean
  readonly error: string | null
  readonly onChange: (chosen: readonly string[]) => void
}

/** The topics to subscribe to; topics without any messages yet come last, with a note. */
export function TopicList({ chosen, ofSite, error, onChange }: TopicListProps) {
  const errorId = useId()
  const query = useTopics()
  const topics = (query.data ?? []).filter(({ for_org: forOrg }) => !ofSite || !forOrg)
  const sorted = topics.toSorted((a, b) => Number(b.emitted) - Number(a.emitted) || a.key.localeCompare(b.key))
  const toggle = (key: string, isChosen: boolean): void =>
    onChange(isChosen ? [...chosen, key] : chosen.filter((name) => name !== key))
  return (
    <fieldset className="choice-list" {...(error !== null && { 'aria-describedby': errorId, 'data-refused': true })}>
      <legend>Topics</legend>
      <div className="choices topic-choices">
        {sorted.map(({ key, emitted }) => (
          <label key={key}>
            <input
              type="checkbox"
              checked={chosen.includes(key)}
              onChange={({ currentTarget: { checked } }) => toggle(key, checked)}
            />
            {key}
            {!emitted && <span className="muted">not sent yet</span>}
          </label>
        ))}
      </div>
      <LoadNote what="The topics" failure={failureOf([query])} />
      <p role="status" className="muted">
        {chosen.length === 0 && 'Without topics the webhook gets only test messages'}
      </p>
      {error !== null && (
        <p id={errorId} className="field-problem">
          {error}
        </p>
      )}
    </fieldset>
  )
}
