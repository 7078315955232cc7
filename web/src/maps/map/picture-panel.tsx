import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useRef } from 'react'
import { answerOf, useServer } from '../../api/client.ts'
import { ProblemNote } from '../../display/layout/notices.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { RequestForm } from '../../display/forms/request-form.tsx'
import { UploadButton } from '../../display/forms/upload-button.tsx'
import { useUpload } from '../../display/forms/use-upload.ts'
import type { SiteMap } from '../map.ts'
import { useMapChange, useStacks } from '../use-maps.ts'

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

/** A building is a stack of floor plans; a new name makes a new one. */
function PlaceForm({ map }: { readonly map: SiteMap }) {
  const { api } = useServer()
  const queries = useQueryClient()
  const stacks = useStacks(map.site_id).data
  const change = useMapChange({ siteId: map.site_id, mapId: map.id })
  if (stacks === undefined) return null
  const nameOf = (id: string | undefined): string => stacks.find((stack) => stack.id === id)?.name ?? ''
  const stackIdOf = async (name: string): Promise<string> => {
    const known = stacks.find((stack) => stack.name === name)
    if (known !== undefined) return known.id
    const stack = await answerOf(
      api.POST('/api/v1/sites/{site_id}/mapstacks', { params: { path: { site_id: map.site_id } }, body: { name } }),
    )
    await queries.invalidateQueries({ queryKey: ['map stacks', map.site_id] })
    return stack.id
  }
  return (
    <RequestForm
      key={`${map.name} ${map.mapstack_id} ${map.mapstack_floor} ${map.orientation}`}
      fields={[
        { name: 'name', label: 'Name', required: true, value: map.name },
        { name: 'mapstack_id', label: 'Building', description: 'Optional', value: nameOf(map.mapstack_id) },
        {
          name: 'mapstack_floor',
          label: 'Floor',
          description: 'A number, the lowest is 0',
          value: String(map.mapstack_floor ?? 0),
        },
        {
          name: 'orientation',
          label: 'Orientation',
          description: 'Degrees; 0: up is north, 90: up is west',
          value: String(map.orientation ?? 0),
        },
      ]}
      action="Change the plan"
      run={async ({ name = '', mapstack_id: building = '', mapstack_floor: floor, orientation }) =>
        change.mutateAsync({
          name,
          ...(building.trim() !== '' && {
            mapstack_id: await stackIdOf(building.trim()),
            mapstack_floor: Number(floor),
          }),
          orientation: Number(orientation),
        })
      }
    />
  )
}
