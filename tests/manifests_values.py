"""Objects like those of Kubernetes, for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

names = st.sampled_from(["a", "b", "c", "main", "side-car", "8080", "a.b/c", "x y", 'q"[=,]'])
scalars = st.sampled_from([None, True, False, 0, 1, 2, 80, "", "1", "true", "500m", "v"]) | names
fields = st.sampled_from(
    ["name", "image", "args", "data", "spec", "a.b/c", "key", "rules", "", "x[0]", "1", "é", '"']
)
ports = st.fixed_dictionaries(
    {"port": st.sampled_from([80, 81, 443])},
    optional={"protocol": st.sampled_from(["TCP", "UDP"]), "name": names},
)
container_ports = st.fixed_dictionaries(
    {"containerPort": st.sampled_from([80, 81])},
    optional={"protocol": st.sampled_from(["TCP", "UDP"]), "name": names},
)
env = st.fixed_dictionaries({"name": names}, optional={"value": scalars})
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(fields, inner, max_size=4),
    max_leaves=8,
)
containers = st.lists(
    st.fixed_dictionaries(
        {"name": names},
        optional={
            "image": names,
            "args": st.lists(scalars, max_size=4),
            "env": st.lists(env, max_size=4),
            "ports": st.lists(container_ports, max_size=3),
            "other": anything,
        },
    ),
    max_size=4,
)
objects = st.fixed_dictionaries(
    {
        "apiVersion": st.sampled_from(["v1", "apps/v1"]),
        "kind": st.sampled_from(["Deployment", "Service", "Secret", "Custom"]),
        "metadata": st.fixed_dictionaries(
            {"name": names}, optional={"annotations": st.dictionaries(fields, names, max_size=3)}
        ),
    },
    optional={
        "data": st.dictionaries(fields, names, max_size=3),
        "spec": st.fixed_dictionaries(
            {},
            optional={
                "ports": st.lists(ports, max_size=4),
                "rules": st.lists(anything, max_size=4),
                "template": st.fixed_dictionaries(
                    {"spec": st.fixed_dictionaries({"containers": containers})}
                ),
                "other": anything,
            },
        ),
    },
)
