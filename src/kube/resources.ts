/** The API paths that the project uses. Parts that come from outside are encoded. */

export interface KubeResource {
  /** Empty for the core group. */
  group: string;
  version: string;
  plural: string;
  kind: string;
  namespaced: boolean;
}

/** A test compares this with the names in src/api, which this layer must not import. */
export const ncapps = define("app.example.com", "v1alpha1", "ncapps", "NCApp", true);
export const ncappsets = define("app.example.com", "v1alpha1", "ncappsets", "NCAppSet", true);
export const controllerRevisions = define("apps", "v1", "controllerrevisions", "ControllerRevision", true);
export const nodes = define("", "v1", "nodes", "Node", false);
export const namespaces = define("", "v1", "namespaces", "Namespace", false);
export const pods = define("", "v1", "pods", "Pod", true);
export const events = define("", "v1", "events", "Event", true);
export const secrets = define("", "v1", "secrets", "Secret", true);
export const configMaps = define("", "v1", "configmaps", "ConfigMap", true);
export const leases = define("coordination.k8s.io", "v1", "leases", "Lease", true);
export const disruptionBudgets = define(
  "policy",
  "v1",
  "poddisruptionbudgets",
  "PodDisruptionBudget",
  true,
);
export const priorityClasses = define("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", false);
export const resourceQuotas = define("", "v1", "resourcequotas", "ResourceQuota", true);
export const limitRanges = define("", "v1", "limitranges", "LimitRange", true);
export const services = define("", "v1", "services", "Service", true);
export const endpoints = define("", "v1", "endpoints", "Endpoints", true);
export const certificateRequests = define(
  "certificates.k8s.io",
  "v1",
  "certificatesigningrequests",
  "CertificateSigningRequest",
  false,
);
export const roles = define("rbac.authorization.k8s.io", "v1", "roles", "Role", true);
export const roleBindings = define("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", true);
export const crds = define(
  "apiextensions.k8s.io",
  "v1",
  "customresourcedefinitions",
  "CustomResourceDefinition",
  false,
);

/** Returns the path of a resource's collection (in one namespace or in all), of one object, or of its subresource. */
export function resourcePath(
  resource: KubeResource,
  { namespace, name, subresource }: ObjectRef = {},
): string {
  const { group, version, plural, namespaced } = resource;
  const parts = group ? ["apis", group, version] : ["api", version];
  if (namespaced && namespace) parts.push("namespaces", namespace);
  if (namespaced && name && !namespace) {
    throw new Error(`${plural} ${JSON.stringify(name)}: a namespace is needed`);
  }
  parts.push(plural);
  if (name) parts.push(name);
  if (name && subresource) parts.push(subresource);
  return `/${parts.map(encodeSegment).join("/")}`;
}

export interface ObjectRef {
  namespace?: string;
  name?: string;
  subresource?: string;
}

export function ncappPath(namespace?: string, name?: string, subresource?: string): string {
  return resourcePath(ncapps, { namespace, name, subresource });
}

export function apiVersionOf({ group, version }: KubeResource): string {
  return group ? `${group}/${version}` : version;
}

/** Returns the resource and verb of a request, for metrics: `{verb: "patch", resource: "ncapps/status"}`. */
export function describeRequest(method: string, path: string): { verb: string; resource: string } {
  const [first, ...rest] = path.split("?")[0]!.split("/").filter(Boolean);
  const afterVersion = first === "apis" ? rest.slice(2) : first === "api" ? rest.slice(1) : [];
  // The path of a Namespace object itself also starts with /namespaces/.
  const [plural, name, subresource] = afterVersion[0] === "namespaces" && afterVersion.length > 2
    ? afterVersion.slice(2)
    : afterVersion;
  const verb = { POST: "create", PUT: "update", PATCH: "patch", DELETE: "delete" }[method] ??
    (name ? "get" : "list");
  if (!plural) return { verb: "get", resource: `/${first ?? ""}` };
  return { verb, resource: subresource ? `${plural}/${subresource}` : plural };
}

function define(
  group: string,
  version: string,
  plural: string,
  kind: string,
  namespaced: boolean,
): KubeResource {
  return { group, version, plural, kind, namespaced };
}

/** `.` and `..` survive encodeURIComponent and would escape from the path. */
function encodeSegment(segment: string): string {
  if (segment === "." || segment === "..") throw new Error(`not a name: ${JSON.stringify(segment)}`);
  return encodeURIComponent(segment);
}
