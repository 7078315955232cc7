import { NativeSelect, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import { fieldIn } from '../../api/problem.ts'
import { useValues } from '../../devices/use-values.ts'
import { ProblemNote } from '../../display/layout/notices.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { sizeText } from '../../display/texts/size.ts'
import { useFocusOnRefusal } from '../../display/forms/focus.ts'
import { UploadButton } from '../../display/forms/upload-button.tsx'
import { useUpload } from '../../display/forms/use-upload.ts'
import type { Upload } from '../image.ts'
import type { paths } from '#openapi'

type Query = paths['/api/v1/orgs/{org_id}/firmware']['post']['parameters']['query']

const tags: readonly Query['tag'][] = ['stable', 'latest', 'suggested', 'beta', 'alpha']
const channels: readonly Query['channel'][] = ['stable', 'beta', 'alpha']
const packages: readonly Query['package'][] = ['mxagent', 'tunterm', 'radsecproxy', 'mxocproxy', 'mxdas']

interface UploadField {
  readonly name: keyof Query
  readonly label: string
  readonly description?: string
  readonly choices?: readonly (string | undefined)[]
}

/** Fields of the query of an upload, by the kind of the upload. */
const fields: Readonly<Record<'models' | 'package', readonly UploadField[]>> = {
  models: [
    { name: 'version', label: 'Version' },
    { name: 'models', label: 'Models', description: 'Separated by commas' },
    { name: 'tag', label: 'Tag', choices: [undefined, ...tags] },
    { name: 'channel', label: 'Channel', choices: [undefined, ...channels] },
    { name: 'min_version', label: 'Lowest version', description: 'That can install this image' },
  ],
  package: [
    { name: 'version', label: 'Version' },
    { name: 'package', label: 'Package', choices: packages },
    { name: 'distro', label: 'Distribution', description: 'Its codename; empty: any' },
    { name: 'channel', label: 'Channel', choices: channels },
  ],
}
const checks: readonly UploadField[] = [
  { name: 'sha256', label: 'SHA-256', description: 'Refuses an image with another hash' },
  { name: 'signature', label: 'Signature', description: 'Ed25519, in base64' },
]

/** Uploads an image, shows the progress, and then the stored image. */
export function UploadPanel({ orgId }: { readonly orgId: string }) {
  const [kind, setKind] = useState<keyof typeof fields>('models')
  const models = useValues(orgId, 'model').choices ?? []
  const modelsId = useId()
  const { upload, share, end } = useImageUpload(orgId)
  const form = useFocusOnRefusal(upload.error)
  const field = upload.error === null ? null : fieldIn(upload.error.message)
  const shown = [...fields[kind], ...checks]
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const { currentTarget: sent } = event
    upload.mutate(new FormData(sent), { onSuccess: () => sent.reset() })
  }
  return (
    <Panel title="Upload">
      <form ref={form} onSubmit={submit}>
        <datalist id={modelsId}>
          {models.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </datalist>
        <div className="wizard-fields">
          <label className="file-field">
            <span>File</span>
            <input type="file" name="file" required />
          </label>
          <NativeSelect
            label="For"
            value={kind}
            data={[
              { value: 'models', label: 'Devices' },
              { value: 'package', label: 'Edge appliances' },
            ]}
            onChange={({ currentTarget: { value } }) => setKind(value as typeof kind)}
          />
          {shown.map(({ name, choices, ...texts }) => {
            const error = field === name ? upload.error?.message : undefined
            const shared = { ...texts, name, error }
            return choices === undefined ? (
              <TextInput key={`${kind} ${name}`} {...shared} {...(name === 'models' && { list: modelsId })} />
            ) : (
              <NativeSelect
                key={`${kind} ${name}`}
                {...shared}
                data={choices.map((value) => ({ value: value ?? '', label: value ?? 'None' }))}
              />
            )
          })}
        </div>
        {!shown.some(({ name }) => name === field) && <ProblemNote problem={upload.error} />}
        <p className="panel-buttons">
          <UploadButton action="Upload" share={share} onEnd={end} />
        </p>
      </form>
      {upload.data !== undefined && (
        <p className="plan-line" role="status">
          {upload.data.existed ? 'There already:' : 'Stored'} {sizeText(upload.data.size)} with the SHA-256{' '}
          <code>{upload.data.sha256}</code>
        </p>
      )}
    </Panel>
  )
}

function useImageUpload(orgId: string) {
  const queries = useQueryClient()
  return useUpload<Upload>({
    requestOf(form) {
      const file = form.get('file')
      const texts = [...form].flatMap(([name, value]) =>
        typeof value === 'string' && value !== '' ? [[name, value]] : [],
      )
      return {
        path: `/api/v1/orgs/${orgId}/firmware?${new URLSearchParams(texts).toString()}`,
        file: file instanceof File ? file : new Blob(),
      }
    },
    onStored: () => queries.invalidateQueries({ queryKey: ['firmware', orgId] }),
  })
}
