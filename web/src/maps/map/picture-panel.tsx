import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useRef } from 'react'
import { type Schemas, answerOf, useServer } from '../../api/client.ts'
import { ProblemNote } from '../../display/layout/notices.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { EditForm } from '../../display/forms/edit-form.tsx'
import type { Texts } from '../../display/forms/edits.ts'
import { UploadButton } from '../../display/forms/upload-button.tsx'
import { useUpload } from '../../display/forms/use-upload.ts'
import type { SiteMap } from '../map.ts'
import { type MapChange, useMapChange, useStacks } from '../use-maps.ts'

/** The picture of the plan, its name, and the building of which it is a floor. */
export function PicturePanel({ map }: { readonly map: SiteMap }) {
  return (
    <Panel title="Plan">
      <UploadForm map={map} />
      <PlaceForm map={map} />
    </Panel>
  )
}

function UploadForm({ map }: { readonly map: SiteMap }) {
  const queries = useQueryClient()
  const form = useRef<HTMLFormElement>(null)
  const { upload, share, end } = useUpload({
    requestOf: (file) => ({ path: `/api/v1/sites/${map.site_id}/maps/${map.id}/image`, file }),
    onStored() {
      form.current?.reset()
      return queries.invalidateQueries({ queryKey: ['maps', map.site_id] })
    },
  })
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    upload.mutate(new FormData(event.currentTarget))
  }
  return (
    <form ref={form} className="request-form" onSubmit={submit}>
      <label className="file-field">
        <span>{map.url === undefined ? 'Picture of the floor' : 'Another picture; all places stay'}</span>
        <input type="file" name="file" accept="image/png,image/jpeg" required />
      </label>
      <ProblemNote problem={upload.error} />
      <span>
        <UploadButton action="Upload the picture" share={share} onEnd={end} />
      </span>
    </form>
  )
}

const placeFields = [
  { name: 'name', label: 'Name', required: true },
  { name: 'mapstack_id', label: 'Building', description: 'Optional' },
  { name: 'mapstack_floor', label: 'Floor', description: 'A number, the lowest is 0' },
  { name: 'orientation', label: 'Orientation', description: 'Degrees; 0: up is north, 90: up is west' },
]

function textsOf(map: SiteMap, stacks: readonly Pick<Schemas['MapStack'], 'id' | 'name'>[]): Texts {
  return {
    name: map.name ?? '',
    mapstack_id: stacks.find(({ id }) => id === map.mapstack_id)?.name ?? '',
    mapstack_floor: String(map.mapstack_floor ?? 0),
    orientation: String(map.orientation ?? 0),
  }
}

/** A building is a stack of floor plans; a new name makes a new one. */
function PlaceForm({ map }: { readonly map: SiteMap }) {
  const { api } = useServer()
  const queries = useQueryClient()
  const { data: stacks, refetch } = useStacks(map.site_id)
  const change = useMapChange({ siteId: map.site_id, mapId: map.id })
  if (stacks === undefined) return null
  const readStacks = async () => (await refetch({ throwOnError: true })).data ?? []
  const readAgain = async () => {
    const path = { site_id: map.site_id, map_id: map.id }
    const present = await answerOf(api.GET('/api/v1/sites/{site_id}/maps/{map_id}', { params: { path } }))
    return textsOf(present, await readStacks())
  }
  const stackIdOf = async (name: string): Promise<string> => {
    // Somebody else may have made the building since the page read them.
    const known = (await readStacks()).find((stack) => stack.name === name)
    if (known !== undefined) return known.id
    const stack = await answerOf(
      api.POST('/api/v1/sites/{site_id}/mapstacks', { params: { path: { site_id: map.site_id } }, body: { name } }),
    )
    await queries.invalidateQueries({ queryKey: ['map stacks', map.site_id] })
    return stack.id
  }
  const buildingOf = async (name: string): Promise<MapChange> =>
    name === '' ? { '-mapstack_id': '' } : { mapstack_id: await stackIdOf(name) }
  return (
    <EditForm
      key={map.id}
      fields={placeFields}
      stored={textsOf(map, stacks)}
      readAgain={readAgain}
      action="Change the plan"
      save={async ({ name, mapstack_id: building, mapstack_floor: floor, orientation }) =>
        change.mutateAsync({
          ...(name !== undefined && { name }),
          ...(building !== undefined && (await buildingOf(building.trim()))),
          ...(floor !== undefined && { mapstack_floor: Number(floor) }),
          ...(orientation !== undefined && { orientation: Number(orientation) }),
        })
      }
    />
  )
}
