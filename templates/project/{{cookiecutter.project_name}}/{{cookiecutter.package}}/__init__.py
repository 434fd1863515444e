{% if cookiecutter.boilerplate %}
{{ cookiecutter.boilerplate | trim }}

{% endif %}
"""The operator {{ cookiecutter.project_name }}."""
