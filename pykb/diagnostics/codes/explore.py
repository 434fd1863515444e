"""What the explorer finds in an operator."""

from pykb.diagnostics.model import Code, note, warning

CRASH = Code(
    "explore-crash",
    "a crash between two writes has a lasting effect",
    "A process can die at any moment: its node fails, it runs out of memory, it is replaced by a new version. The "
    "explorer let it die before or after one write and started it again. In the end, the cluster must hold the same as "
    "without the crash. If it does not, the reconciler relies on something that it did or knew before, often a field "
    "in memory, or a status that says `created` before the object exists. Derive each step from the objects that "
    "exist: get or apply every child in each reconcile, and write the status last.",
)

ERROR = Code(
    "explore-error",
    "a failed request has a lasting effect",
    "Each request can fail once: by a conflict, by an overloaded server, or by a connection that ends before the "
    "answer. The write may have had its effect even then. The explorer let one request fail. In the end, the cluster "
    "must hold the same as without the failure. If it does not, an error is caught and forgotten, or a write is "
    "assumed not to have happened. Let the error leave the reconciler, which is then called again, and make each "
    "write repeatable: apply or `create_or_update` rather than create.",
)

STALE = Code(
    "explore-stale",
    "the operator acts wrongly when its caches lag",
    "Reads come from a cache, which follows the API server by moments, or by minutes when the server is busy. The "
    "explorer let the caches lag, or let another process take over whose caches were behind those of the first one, "
    "as those of a standby are. The operator made or deleted something that it does not otherwise, or ended in "
    "another state. Give children fixed names, so that a second creation is refused. Before a deletion, check with "
    "the uid as precondition, or read with `manager.api_reader`.",
)

LEADER = Code(
    "explore-leader",
    "a late write of the former leader has a lasting effect",
    "The leader is paused, by its node or by the network, while a write is on its way. Its lease runs out, and another "
    "process leads. When the former leader wakes up, it sends nothing more, because each write needs a young lease. "
    "But the write that was on its way can still arrive, after the work of the next leader. In the end, the cluster "
    "must hold the same as without it, and nothing may be made twice. Give children fixed names, so that a second "
    "creation is refused. Where nothing looks at the object again, let the API server refuse an old write: update with "
    "the `resourceVersion` that was read, or `patch_status(..., optimistic_lock=True)`.",
)

UNSEEN = Code(
    "explore-unseen",
    "the operator misses what it has not seen happen",
    "A watch that breaks is followed by a list. What came and went in between is never seen. The explorer broke the "
    "watches while somebody changed, deleted or replaced an object, or let the events of one kind come later than "
    "those of the others. A reconciler must look at what is there now, not at events: compare the desired with the "
    "present state in each reconcile.",
)

HISTORY = Code(
    "explore-history",
    "the result depends on earlier specs",
    "The explorer changed the spec to another one, and compared with an object that had this spec from the "
    "beginning. They must lead to the same, also if children become ready late. If they do not, something of the "
    "old spec stays: a child of a former name, or a field that nobody removes. Delete children that are no longer "
    "wanted (`prune`), and apply all fields of a child in each reconcile, so that fields that were left out go "
    "away. For children that are not ready, watch them or come back with `requeue_after`. If they cannot become "
    "ready, since an image is wrong or a quota is used up, somebody puts it right: do not wait within a reconcile, "
    "change children that are not ready, and take no failure for the end.",
)

UPGRADE = Code(
    "explore-upgrade",
    "today's operator does not continue the work of an earlier version",
    "The code of an earlier revision (`pykb explore --from REV`) worked on the sample. It was stopped when everything "
    "was at rest, or right after one of its writes, as a rolling update stops it. Then today's code took over. Or it "
    "took over the objects of a cluster (`--from-cluster`, `--from-objects`). In the end, the cluster must hold the "
    "same as if today's code had made everything, and a deletion must leave nothing. If not, something of the old "
    "version stays: a child of a former name, a finalizer that nobody removes any more, or a field that the API "
    "server lets nobody change. Let the new version look for what the old one made, and keep that code until no "
    "cluster runs the old version any more.",
)

DRIFT = Code(
    "explore-drift",
    "a child that somebody changed or deleted does not come back",
    "Somebody deleted a child of the operator, or changed a field that the operator has set. The operator must bring "
    "it back. Somebody also changed an object that the operator only reads, such as a Secret that it copies, took a "
    "label off it, or made it late. So did somebody with another sample. What the operator made of it must follow, at "
    "once or when it looks again. If another object of the kind came first and goes, the next one must get what it "
    "waits for. A child without an owner reference may come back late, too, within two hours: it may stand for what is "
    "in a system that nobody can watch. So may each child of handlers of kopf, by a timer. If it does not come back or "
    "follow, the operator is not woken by changes of the object (`.owns(...)` or `.watches(...)` in `setup`), or it "
    "writes a child only when it creates it. If the field is left to others on purpose, such as replicas to an "
    "autoscaler, name it in `ignore`.",
)

LEAK = Code(
    "explore-leak",
    "something is left over after the object was deleted",
    "The explorer deleted the object, also in the middle of its first reconcile. In the end, nothing that the operator "
    "made for it may remain, nor the object itself. What was there before must still be there. Set an owner reference "
    "on each child in the same namespace (`set_controller_reference`), which the cluster then deletes. Everything "
    "else needs a finalizer, which is set before the first child is made and goes when the last one is gone.",
)

THEFT = Code(
    "explore-theft",
    "the operator takes an object that is somebody else's",
    "An object with the name of a child was there before and had no owner reference of the operator. It must not be "
    "changed or deleted, and the user must learn of it by a Warning event or in the status. `ensure_applied(..., "
    "owner=...)` and `create_or_update` with `set_controller_reference` refuse such objects with `NotControlled`. "
    "The explorer also lets a second object of the same kind come and go, with another name or in another namespace, "
    "or change at the same time, and annotates a child: none of it must matter. Names of children must differ for each "
    "parent, and an update must keep the fields of others.",
)

LOOP = Code(
    "explore-loop",
    "the operator never comes to rest",
    "Nobody changed anything, and yet the operator writes or reconciles again and again, perhaps only while a child "
    "fails. Each write wakes it for the next one. Common causes are a time in the status, a list in another order each "
    "time, a default that the API server adds, or an unconditional update of the status. A write that changes nothing "
    "may come again after five minutes. Compare before writing: `patch_status`, `ensure_applied` and `set_condition` "
    "write only changes.",
)

BUG = Code(
    "explore-bug",
    "a valid spec leads to an error or to a state without a way back",
    "The API server accepts this spec, but the reconciler raises an error of programming (`TypeError`, `KeyError` and "
    "the like), ends the process, or stays in a state that a good spec does not mend. Refuse such specs by a marker on "
    "the type (`minimum`, `minLength`, `required`, a CEL rule), or handle them. An error of programming counts in any "
    "history: in a rare branch, such as that for a name that is taken, it hides the error that led there.",
)

TWO_FAULTS = Code(
    "explore-two-faults",
    "a fault during the recovery from another one has a lasting effect",
    "Faults come together: a node that fails takes the process with it, and makes the API server slow. The explorer "
    "let a request fail, the process die, or caches lag, and then let a second fault strike while the operator "
    "recovered. Each of them alone has no lasting effect. If both have one, the way back is a state of its own from "
    "which nothing leads out, or the operator counts failures and gives up. Let the recovery be the usual reconcile: "
    "derive each step from the objects that exist, so that it can begin anywhere.",
)

SHARDS = Code(
    "explore-shards",
    "replicas that share the objects do not do the same as one",
    "With `--shards`, several replicas work at the same time, each on its share of the objects, and an object moves "
    "to another replica when one comes, leaves or dies. The explorer let two or three replicas run, with the sample "
    "and others of its kind, let one come, leave and die, also while an answer was on its way to it, and held one up "
    "until another one had its objects. In the end, the cluster must hold the same as with one process, and nothing "
    "more may have been made or deleted. If not, a replica relies on what it has in memory, though another one has "
    "worked on the object since; or it takes its share for all: its cache of the kind that it reconciles has only its "
    "own objects. Derive what to do from the objects that exist. Read what concerns all objects with "
    "`manager.api_reader`, or leave such work to the leader (`with_options(sharded=False)`).",
)

RBAC = Code(
    "explore-rbac",
    "the operator's role does not allow a request",
    "The operator sent a request that the rules in `config/rbac` do not allow. In a cluster it is answered with 403 "
    "Forbidden. Add the marker to the reconciler and run `make manifests`.",
)

INVARIANT = Code(
    "explore-invariant",
    "an invariant of the project does not hold",
    "The project says by a function what must hold in its cluster, such as that there are never two primaries. In one "
    "of the histories of the other codes, it did not hold when everything was at rest, after a change of the operator "
    "(`always`), or for longer than allowed (`within`). The line is that of the change after which it did not hold. "
    "Changes of somebody else count only if the operator has not corrected them at the next rest. Correct the "
    "operator, or the function if it asks for too much, such as for what a deleted object or another spec does not "
    "need.",
)

UNUSED_GRANT = note(
    "explore-unused-grant",
    "the operator's role allows what no history needed",
    "No history of the exploration used this permission. Each permission that is not needed is one that an attacker "
    "can use. Not all code may have run: check before you remove its marker.",
)

UNREACHED = note(
    "explore-unreached",
    "no history reached some lines of the operator",
    "What was not run was not explored, so `no findings` says nothing about these lines. They may need another sample, "
    "such as one with an optional part of the spec, a state that only another controller brings about (an actor), or "
    "an answer of a system outside the cluster (a double). Lines of functions in the files that the operator imports "
    "are counted, without tests, generated files, and what `# pragma: no cover` marks. To reach more, the explorer "
    "tries values near the constants with which these files compare.",
)

REAL_WORLD = warning(
    "explore-real-world",
    "the operator leaves the virtual world of the explorer",
    "While a history runs, time is virtual: hours pass in milliseconds, and the same history always ends in the same "
    "way. `asyncio.sleep`, `time.sleep`, `datetime.now`, `time.time`, `random`, `secrets` and plain functions in "
    "threads all follow it. A thread that the operator starts by itself, a process or a connection that takes seconds, "
    "and a reference to the real clock do not. The histories run nevertheless, but their results may differ from run "
    "to run.",
)

SHARED_MEMORY = note(
    "explore-shared-memory",
    "two replicas cannot be told apart in the explorer",
    "The explorer runs replicas that share the objects in one interpreter. Each of them has its own reconcilers, but a "
    "variable of a module is the same for both. In a cluster, each replica has its own. A history in which such a "
    "variable has changed is not judged, so that it accuses nobody who is right: `no findings` says nothing about two "
    "replicas then. Keep what changes in the reconciler.",
)

UNKNOWN_CONDITION = note(
    "explore-unknown-condition",
    "the explorer cannot evaluate a condition of a webhook",
    "The explorer evaluates the `matchConditions` of webhooks on the object, the old object and the request. It knows "
    "neither the accounts of a cluster (`request.userInfo`, `authorizer`) nor times, quantities and Kubernetes' own "
    "functions. A condition that needs one of them counts as met, so the webhook is called more often than in a "
    "cluster.",
)

SETTING = Code(
    "explore-setting",
    "a setting of the explorer has an invalid value",
    "`[tool.pykb.explore]` in pyproject.toml holds what `pykb explore` and the tests share: actors, invariants, "
    "objects, accepted differences with their reasons, and limits.",
)

USELESS_IGNORE = note(
    "explore-useless-ignore",
    "what is ignored differs nowhere",
    "A field that may differ hides what is found there later. In the histories that were run, no such field differed, "
    "or there was no object of the kind. Take the entry out, or correct it.",
)

LEFT_OUT = note(
    "explore-left-out",
    "an object or a field is not in the explorer's world",
    "While the explorer works on one sample, the other samples of the project are there as well, and so are the "
    "objects of Kubernetes' own kinds in `config/samples` and `tests/fixtures`. One that the API server refuses, with "
    "which the operator fails, or with which it never comes to rest would hide what is to be found. It is left out, "
    "and this message says why. A field that the definition lacks is dropped from a sample by the API server, as if "
    "nobody had set it. kubectl refuses it.",
)

NOT_EXPLORED = Code(
    "explore-not-explored",
    "a sample cannot be explored",
    "The explorer needs a sample that the API server accepts and that the operator brings to rest without errors. "
    "Everything is compared with this run.",
)

ADVICE = {
    CRASH.slug: "a process can die at any moment: derive each step from the objects that exist, write the status last",
    ERROR.slug: "each request can fail once, even after its effect: let the error out, and make each write repeatable",
    STALE.slug: "caches can be behind: give children fixed names, and delete with the uid as precondition",
    LEADER.slug: "a former leader's last write can arrive late: fixed names, and updates with the `resourceVersion`",
    UNSEEN.slug: "events get lost when a watch breaks: compare what is there with what is wanted in each reconcile",
    HISTORY.slug: "users change specs: apply each child in each reconcile, and `prune` those that are not wanted",
    UPGRADE.slug: "clusters have what released versions made: look for it, and change or delete what is not wanted",
    DRIFT.slug: "only the operator can bring it back: watch the child (`.owns`), and apply it in each reconcile",
    LEAK.slug: "nobody else deletes it: set the owner reference (`owner=`), or a finalizer before anything is made",
    THEFT.slug: "two owners undo each other's work: pass `owner=`, and report `NotControlled` in an event",
    LOOP.slug: "it loads the API server for ever: write only what has changed (`patch_status`, `ensure_applied`)",
    BUG.slug: "the API server accepts this spec, so users will write it: refuse it by a marker, or handle it",
    SHARDS.slug: "another replica may have worked on it since, and on what this one does not see: look at what exists",
    TWO_FAULTS.slug: "a recovery can fail, too: let it be the usual reconcile, which can begin anywhere",
    INVARIANT.slug: "it must hold in every history: order the writes so that none of them breaks it, even at a crash",
    RBAC.slug: "a cluster answers 403 Forbidden: add the marker to the reconciler, and run `make manifests`",
}
"""Why a finding is a fault and what to do, in one sentence for its message."""

KOPF_ADVICE = ADVICE | {
    CRASH.slug: "a process can die at any moment, also between kopf's notes and the status: set it in `on.resume`, too",
    ERROR.slug: "kopf calls the handler again, which must work then: apply rather than create",
    STALE.slug: "events come late, and an index is a cache: give children fixed names",
    UNSEEN.slug: "kopf lists again after a watch breaks, and tells nobody what has gone: look by a timer, too",
    HISTORY.slug: "users change specs: let one function handle create, update and resume, and apply whole children",
    DRIFT.slug: "nothing calls a handler when a child changes: add `@kopf.on.event` for its kind, or a timer",
    LEAK.slug: "nobody else deletes it: call `kopf.adopt`, or delete it in `@kopf.on.delete` that is not optional",
    THEFT.slug: "two owners undo each other's work: look at the owner first, and say it by `kopf.warn`",
    LOOP.slug: "it loads the API server for ever: compare before you write, also in timers and daemons",
    BUG.slug: "the API server accepts this spec, so users will write it: refuse it in the CRD, or handle it",
}
"""The same for operators that have handlers of kopf only."""
