import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import { fieldIn } from '../../api/problem.ts'
import { ConfirmButton } from '../../display/confirm-button.tsx'
import { counted } from '../../display/counted.ts'
import { ProblemNote } from '../../display/notices.tsx'
import { Panel } from '../../display/panel.tsx'
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
  return (
    <form
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
        <Button type="submit" size="xs" disabled={body === null} loading={change.isPending}>
          Keep the drawing
        </Button>
        <Button variant="default" size="xs" disabled={points.length === 0} onClick={onBack}>
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
  const ways = segmentsOf(map.wayfinding_path).length
  const nothing = { coordinate: 'actual', nodes: [] }
  const rows: readonly (readonly [string, string, string, MapChange])[] = [
    ...(walls === 0 ? [] : [['walls', counted(walls, 'wall'), 'Delete the walls', { wall_path: nothing }] as const]),
    ...(ways === 0
      ? []
      : [
          [
            'ways',
            counted(ways, 'piece of a way', 'pieces of ways'),
            'Delete the ways',
            { wayfinding_path: nothing },
          ] as const,
        ]),
    ...geofences.map(
      ({ name = '' }, index) =>
        [
          `geofence ${index}`,
          `geofence ${name}`.trim(),
          `Delete ${name === '' ? 'the geofence' : name}`,
          { geofences: geofences.toSpliced(index, 1) },
        ] as const,
    ),
  ]
  if (rows.length === 0) return null
  return (
    <ul className="log">
      {rows.map(([key, text, action, body]) => (
        <li key={key} className="image-line">
          <span>{text}</span>
          <ConfirmButton
            action={action}
            isDestructive
            effect={`Removes ${text} from the plan.`}
            run={() => change.mutateAsync(body)}
          />
        </li>
      ))}
    </ul>
  )
}
