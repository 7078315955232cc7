import { TextInput } from '@mantine/core'
import { useState } from 'react'
import { Button } from '../../display/forms/button.tsx'
import { fieldIn } from '../../api/problem.ts'
import { ConfirmButton } from '../../display/forms/confirm-button.tsx'
import { counted } from '../../display/texts/counted.ts'
import type { Count, Effect } from '../../display/forms/effect.ts'
import { useFocusOnRefusal } from '../../display/forms/focus.ts'
import { ProblemNote } from '../../display/layout/notices.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { type Point, type SiteMap, segmentsOf } from '../map.ts'
import { type MapChange, useMapChange } from '../use-maps.ts'
import { type Drawing, drawings } from './drawings.ts'

interface DrawPanelProps {
  readonly map: SiteMap
  readonly drawing: Drawing | null
  readonly points: readonly Point[]
  readonly onBegin: (drawing: Drawing) => void
  readonly onPoints: (points: readonly Point[]) => void
  readonly onEnd: () => void
}

/** Starts a drawing on the plan, and stores it. */
export function DrawPanel({ map, drawing, points, onBegin, onPoints, onEnd }: DrawPanelProps) {
  return (
    <Panel title="Drawing">
      {drawing === null ? (
        <>
          <p className="panel-buttons">
            {drawings.map((one) => (
              <Button key={one.action} variant="default" size="xs" onClick={() => onBegin(one)}>
                {one.action}
              </Button>
            ))}
          </p>
          <DrawnList map={map} />
        </>
      ) : (
        <DrawForm
          key={drawing.action}
          map={map}
          drawing={drawing}
          points={points}
          onBack={() => onPoints(points.slice(0, -1))}
          onEnd={onEnd}
        />
      )}
    </Panel>
  )
}

interface DrawFormProps extends Pick<DrawPanelProps, 'map' | 'points' | 'onEnd'> {
  readonly drawing: Drawing
  readonly onBack: () => void
}

function DrawForm({ map, drawing, points, onBack, onEnd }: DrawFormProps) {
  const [answer, setAnswer] = useState('')
  const change = useMapChange({ siteId: map.site_id, mapId: map.id })
  const body = points.length < drawing.least ? null : drawing.changeOf(map, points, answer)
  // A refused field is that of the answer: the points are within the picture.
  const isAtField = drawing.question !== undefined && change.error !== null && fieldIn(change.error.message) !== null
  const form = useFocusOnRefusal(change.error)
  return (
    <form
      ref={form}
      className="request-form"
      onSubmit={(event) => {
        event.preventDefault()
        if (body !== null) change.mutate(body, { onSuccess: onEnd })
      }}
    >
      <p>{drawing.hint}</p>
      <p role="status" className="muted">
        {counted(points.length, 'point')} marked
      </p>
      {drawing.question !== undefined && (
        <TextInput
          label={drawing.question}
          value={answer}
          error={isAtField ? change.error.message : null}
          onChange={({ currentTarget: { value } }) => setAnswer(value)}
        />
      )}
      <ProblemNote problem={isAtField ? null : change.error} />
      <span className="plan-turn">
        <Button type="submit" size="xs" isOff={body === null} isBusy={change.isPending}>
          Keep the drawing
        </Button>
        <Button variant="default" size="xs" isOff={points.length === 0} onClick={onBack}>
          Take the last point back
        </Button>
        <Button variant="default" size="xs" onClick={onEnd}>
          Stop drawing
        </Button>
      </span>
    </form>
  )
}

/** The drawings, with buttons to remove them. */
function DrawnList({ map }: { readonly map: SiteMap }) {
  const change = useMapChange({ siteId: map.site_id, mapId: map.id })
  const geofences = map.geofences ?? []
  const walls = segmentsOf(map.wall_path).length
  const paths = segmentsOf(map.wayfinding_path).length
  const nothing = { coordinate: 'actual', nodes: [] }
  const rows: readonly Drawn[] = [
    {
      key: 'walls',
      counts: [{ count: walls, one: 'wall' }],
      action: 'Delete the walls',
      change: { wall_path: nothing },
    },
    {
      key: 'paths',
      counts: [{ count: paths, one: 'segment of paths', many: 'segments of paths' }],
      action: 'Delete the paths',
      change: { wayfinding_path: nothing },
    },
    ...geofences.map(({ name = '' }, index): Drawn => ({
      key: `geofence ${index}`,
      counts: [{ count: 1, one: 'geofence' }],
      name: name === '' ? undefined : name,
      action: `Delete ${name === '' ? 'the geofence' : name}`,
      change: { geofences: geofences.toSpliced(index, 1) },
    })),
  ]
  const drawn = rows.filter(({ counts: [{ count }] }) => count > 0)
  if (drawn.length === 0) return null
  return (
    <ul className="log">
      {drawn.map(({ key, counts, name, action, change: body }) => (
        <li key={key} className="image-line">
          <span>
            {counted(counts[0].count, counts[0].one, counts[0].many)}
            {name !== undefined && ` ${name}`}
          </span>
          <ConfirmButton
            action={action}
            isDestructive
            effect={{
              does: 'Removes',
              counts,
              name,
              consequences: ['Devices keep their places on the plan.'],
            }}
            run={() => change.mutateAsync(body)}
          />
        </li>
      ))}
    </ul>
  )
}

/** Something that is drawn on the plan, and how it is removed. */
interface Drawn extends Pick<Effect, 'name'> {
  readonly key: string
  readonly counts: readonly [Count]
  readonly action: string
  readonly change: MapChange
}
